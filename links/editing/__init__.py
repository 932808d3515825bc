"""Creates and changes payment links and templates."""
