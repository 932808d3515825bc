"""What can go wrong beside the facilitator's reasons."""


class ProofUnknownError(Exception):
    """No node could tell of a transaction: that says nothing about the payment."""
