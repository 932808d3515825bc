"""What can keep a payer from paying, beyond what an API client is told."""


class NotPayableError(Exception):
    """The link takes no payment now: it is paused, archived, or an invoice that was paid."""


class StaleFormError(Exception):
    """The form was not made by us for this link, or too long ago."""
