"""Finding the checkout that a transfer pays, and crediting it."""
