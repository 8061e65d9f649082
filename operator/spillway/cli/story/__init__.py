"""What `spillway demo` shows: a job on this machine under a load with two bursts, told as it happens, and judged.

job        the job: word count over long lines
phases     how long each phase takes, and at what rate, from what was measured; pure
meter      how old results were, phase by phase, from the metrics of the workers
moves      partitions that changed hands, told together; pure
report     what is left of it all, for people and as JSON; pure
narrator   the lines that are printed
director   what is done when: feeds, watches, has the outputs judged, and asks for the end
"""
