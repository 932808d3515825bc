"""Dashboard pages about the account itself: the merchant chooser, the sidebar, the audit log, exports."""
