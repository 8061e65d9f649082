// The first process of every pod: it keeps the pod's namespaces while its containers come and go, buries what they
// leave behind, and ends when it is told to.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	told := make(chan os.Signal, 16)
	signal.Notify(told, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for what := range told {
		if what != syscall.SIGCHLD {
			return
		}
		for {
			if gone, _ := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); gone <= 0 {
				break
			}
		}
	}
}
