"""Creating and changing payment links and templates."""
