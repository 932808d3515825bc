"""The demo's first page and its login page, for the demo's web processes alone."""
