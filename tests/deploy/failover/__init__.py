"""Kills one part after the other of a Florin on several machines, under load, and measures what stands still."""
