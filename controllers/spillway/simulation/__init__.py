"""A job under a load trace, without a clock."""
