"""The operator's pages: Django's admin, behind a second factor and a recent login."""
