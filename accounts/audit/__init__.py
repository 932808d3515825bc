"""The audit log: entries, the chain of seals, and action labels."""
