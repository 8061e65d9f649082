"""What `spillway plan` is made of.

- `questions`: from a file and options to what is asked;
- `answers`: a plan as programs read it;
- `sheets`: a plan on a terminal, and `pictures`: drawn;
- `rehearsals`: a job under a load trace, and `comparisons`: under other policies;
- `courses`: what came out of that, as programs read it, `timelines`: on a terminal, and `charts`: drawn;
- `sizes`: numbers as people read them, and `canvas`: what all pictures have in common.
"""
