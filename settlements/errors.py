"""Errors of settlements."""


class NoGasError(Exception):
    """No transaction may be sent now: no key, gas too expensive, daily limit reached, or balance too low."""


class NoCoinError(NoGasError):
    """No gas account's balance pays for the transaction."""
