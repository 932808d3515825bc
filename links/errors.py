"""Errors of a payer's request that are not API errors."""


class NotPayableError(Exception):
    """The link takes no payment: it is paused, archived, or a paid invoice."""


class StaleFormError(Exception):
    """The form is not ours, for another link, or too old."""
