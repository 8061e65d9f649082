"""What `spillway dead` asks and shows.

- `questions`: which job, and which of its letters;
- `sheets`: letters on a terminal, and as JSON.
"""
