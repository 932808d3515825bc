"""Florin: the composition root and the core."""
