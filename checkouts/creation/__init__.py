"""Creates checkouts: reads the request and writes its rows in one statement."""
