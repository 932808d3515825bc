"""Every change to payment links, a module per noun."""
