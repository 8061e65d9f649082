"""An archive with all that could explain a job, for somebody else to look at; without anything that is secret.

- `redaction`: what is taken out, of texts and of objects;
- `archive`: the file; everything passes through the one gate that takes secrets out;
- `far`, `here`: what there is of a job on a cluster, and on this machine.
"""
