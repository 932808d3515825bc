"""The report that machines buy from the demo over x402, and a machine that buys it."""
