"""The stream server: pushes changes of a checkout page to the browser as server-sent events."""
