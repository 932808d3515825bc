"""Creating a checkout: reading the request and writing its rows in one statement."""
