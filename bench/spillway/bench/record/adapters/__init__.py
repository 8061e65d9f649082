"""The same jobs for other systems. Each file is a program of its own, run by the Python that has that system.

    python quix.py BOOTSTRAP SOURCE OUTPUT NAME WORKLOAD FOLDER

WORKLOAD is words, ads or orders (bytewax: also lines, split or grep), FOLDER one that it may use, with `campaigns.json`
in it. They import nothing of ours.
What was chosen for them is said in each, and where that is faster than what its users get, too.
"""
