"""A slot: one process that runs programs record by record on the partitions that the control log gives it."""
