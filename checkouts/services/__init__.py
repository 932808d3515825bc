"""Every change to checkouts, a module per noun."""
