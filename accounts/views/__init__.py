"""Pages of people, merchants and teams, a module per noun."""
