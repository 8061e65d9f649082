"""The driver of a job: who owns which partition, which programs run, and how many workers it takes, and why."""
