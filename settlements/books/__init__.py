"""What forwarders hold by the books and by the chain, and whether both agree."""
