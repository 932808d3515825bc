"""What `manage.py after_restore` does: the gateway learns that its database lost time."""
