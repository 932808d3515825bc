"""The dashboard's parts that need all apps: navigation, routes, and closing the account."""
