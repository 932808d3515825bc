"""The audit log: its entries, the chain of seals, and the words it uses."""
