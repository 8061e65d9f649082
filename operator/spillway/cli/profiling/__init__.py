"""What `spillway profile` is made of: `questions` in, `session`, and `sheets`, `answers`, `pictures`, `writing` out."""
