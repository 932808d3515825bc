"""The hosted checkout page: what it shows, its views, and browser-wallet transactions."""
