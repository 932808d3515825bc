"""Comparing what was read with what other sources of the same chain tell."""
