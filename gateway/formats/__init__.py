"""Where Django's own way to write a date does not fit into a line of ours."""
