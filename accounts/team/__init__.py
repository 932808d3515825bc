"""The people of a merchant: roles, permissions, invitations, and an operator's impersonation."""
