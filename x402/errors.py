"""Errors that are not the facilitator's refusal reasons."""


class ProofUnknownError(Exception):
    """No node answered about a transaction: that says nothing about the payment."""
