"""What can go wrong between forwarders and merchants."""


class NoGasError(Exception):
    """No transaction may be sent now: no key, too dear, the day's limit is reached, or the account is too poor."""
