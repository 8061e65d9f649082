"""What `spillway plan` is made of.

- `questions`: from a file and options to what is asked;
- `answers`: a plan as programs read it;
- `sizes`: numbers as people read them;
- `sheets`: a plan on a terminal;
- `pictures`: a plan drawn.
"""
