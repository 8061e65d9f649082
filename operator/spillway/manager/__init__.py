"""The operator: StreamJobs become pods, services and accounts, as many as the load needs, and their status says why."""
