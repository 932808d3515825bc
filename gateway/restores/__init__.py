"""The steps of `manage.py after_restore`, after a restore from a backup that lost recent data."""
