"""Chain watchers: read blocks and accounts under a lease, and record the results."""
