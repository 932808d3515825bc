"""What is read of watched wallets beside what their chains' watchers read: what was before, and what they hold."""
