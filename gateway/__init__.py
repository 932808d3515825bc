"""Florin's settings, processes, shared pages and core."""
