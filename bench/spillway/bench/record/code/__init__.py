"""What users of the measured jobs write: a folder of functions, as a job is given one."""
