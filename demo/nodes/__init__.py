"""The nodes the demo runs, one module for each family of chains."""
