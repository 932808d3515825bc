"""What the dashboard has from all apps: navigation, routes, and closing the account."""
