"""The children of a job as the API server takes them: pure builders, from a shape to plain dicts."""
