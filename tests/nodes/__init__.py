"""What tests add to the local chains of `localnet`: fixtures, hostile proxies, forwarders."""
