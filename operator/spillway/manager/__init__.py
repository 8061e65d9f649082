"""The operator: reconciles StreamJobs into pods."""
