"""Chain watchers: reading blocks and accounts under a lease, and recording what they find."""
