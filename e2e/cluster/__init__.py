"""A cluster of one node for tests, with everything in it: `python -m cluster --help`.

Where containers can be pulled, the node is kind's own image. Where they can't, everything that a node consists of is
made here from packages and Go modules: `programs` builds what is written in Go, `bases` a Debian and a Python,
`nodes` the image of the node. The rest is the same for both: `kind` has the cluster, `images` what is tested,
`broker` the Kafka in it, `release` the operator, installed with its chart.
"""
