"""The merchant's pages of watched wallets: the list, one wallet with its movements, adding, editing and giving one up."""
