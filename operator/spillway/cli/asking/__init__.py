"""What is asked of a job that runs.

- `options`: of all commands that ask;
- `places`: from a job's name to the driver that answers for it;
- `told`: decisions as drivers tell them;
- `accounts`: why a job runs as it does, put together from all that its driver tells;
- `sheets`: such an account on a terminal, and as JSON;
- `news`: decisions as they come, and older ones out of the job's topic;
- `crossings`: how far a switch is that somebody asked for.
"""
