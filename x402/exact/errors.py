"""What keeps a signed authorisation from being carried out."""


class RefusedPaymentError(Exception):
    """The payment is refused; `reason` is a code of the standard, `payer` whoever claims to pay, "" where unknown."""

    def __init__(self, reason: str, message: str = "", *, payer: str = "") -> None:
        super().__init__(message or reason)
        self.reason = reason
        self.message = message
        self.payer = payer


class TakenElsewhereError(Exception):
    """Another request has this authorisation in hand."""


class OverdrawnError(Exception):
    """A payer's balance does not cover an authorisation beside the others that are on their way."""


class BalanceUnknownError(Exception):
    """A payer has other payments on their way, and its balance was not asked for."""


class RevertedError(Exception):
    """A contract refuses a call, in its own words."""


class ReceiptMissingError(Exception):
    """A transaction was sent, and is in no block yet."""
