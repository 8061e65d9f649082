"""The same jobs for other systems. Each file is a program of its own, run by the Python that has that system.

    python quix.py BOOTSTRAP SOURCES OUTPUT NAME WORKLOAD FOLDER

SOURCES are topics with commas between, one for each stream of the workload; NAME is one that no other run has; FOLDER
one that it may use, with `campaigns.json` in it. They import nothing of ours. What was chosen for them is said in each,
and where that is faster than what its users get, too.
"""
