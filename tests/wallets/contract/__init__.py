"""The same questions to the reader of every chain: see `test_adapters`."""
