"""Live status of checkout pages: one process tells all open pages when to look again (docs/adr/0008)."""
