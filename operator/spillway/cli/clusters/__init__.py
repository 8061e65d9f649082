"""Jobs on a cluster, asked from wherever somebody has a kubeconfig: all of it through the API server.

- `connections`: an API server, asked one thing after the other or several at once;
- `jobs`: StreamJobs, their pods and their drivers;
- `redaction`: what must not leave a cluster.

Nothing here is imported before a command needs it: it takes the libraries of `spillway[operator]`.
"""
