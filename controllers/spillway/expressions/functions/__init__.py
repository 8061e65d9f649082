"""The functions of the SQL subset: what each accepts, what it gives, and how the record paradigm computes it."""
