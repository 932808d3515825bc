"""A shop that uses Florin as a merchant does."""
