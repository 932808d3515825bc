"""The stream server: sends changes of a checkout page to the browser as server-sent events."""
