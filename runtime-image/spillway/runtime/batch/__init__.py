"""The second paradigm: a program runs over exact ranges of its input, and adds up before it sends where it can."""
