"""Tables of the record paradigm: aggregates and joins, with the state that one partition of them has."""
