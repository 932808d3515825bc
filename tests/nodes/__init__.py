"""What tests add to the local chains of `demo.localnet`: fixtures, hostile proxies, forwarders."""
