"""Errors while carrying out a signed authorisation."""


class RefusedPaymentError(Exception):
    """The payment is refused; `reason` is a code of the standard, `payer` the claimed payer, "" if unknown."""

    def __init__(self, reason: str, message: str = "", *, payer: str = "") -> None:
        super().__init__(message or reason)
        self.reason = reason
        self.message = message
        self.payer = payer


class TakenElsewhereError(Exception):
    """Another request holds this authorisation."""


class OverdrawnError(Exception):
    """A payer's balance does not cover an authorisation beside others in progress."""


class BalanceUnknownError(Exception):
    """A payer has other payments in progress, and its balance was not read."""


class ReceiptMissingError(Exception):
    """A transaction was sent, and is not in a block yet."""
