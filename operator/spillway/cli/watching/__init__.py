"""What `spillway up` shows of a job that runs: a panel at a terminal, lines in a pipe, objects for programs."""
