"""Checkouts, endpoints, deliveries and errors in sentences."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from florin import ApiError, NoAnswerError

_HEALTH: Final = {
    "healthy": "Its last deliveries arrived.",
    "failing": "Deliveries fail and are tried again.",
    "probation": "Deliveries fail, so one at a time is tried.",
    "disabled": "It gets nothing until a person enables it.",
}
_DELIVERIES: Final = {
    "pending": "It has not arrived.",
    "held": "It has not arrived, and waits because its endpoint is disabled.",
    "failed": "It did not arrive, and was given up.",
    "cancelled": "It is not sent any more: its endpoint was deleted, or takes no such event.",
}


def timeline(checkout: Mapping[str, Any]) -> list[str]:
    """Return what happened to a checkout, oldest first, then what is so now. Each moment is ISO 8601."""
    moments = sorted(_moments(checkout), key=lambda each: datetime.fromisoformat(each[0]))
    return [*(f"{at}: {words}" for at, words in moments), *_now(checkout)]


def endpoint_words(endpoint: Mapping[str, Any]) -> str:
    """Return how a webhook endpoint does."""
    words = _HEALTH.get(endpoint["health"], f"Its health is {endpoint['health']}.")
    since = endpoint["failing_since"]
    return f"{words} It has been failing since {since}." if since else words


def delivery_words(delivery: Mapping[str, Any]) -> str:
    """Return whether a webhook delivery arrived, how its last try ended, and when the next one is."""
    status, last = delivery["status"], delivery["last_attempt"]
    if status == "delivered":
        return f"It arrived at {delivery['finished_at']}."
    words = [_DELIVERIES.get(status, f"Its status is {status}.")]
    if last is not None:
        result = f"status {last['status_code']}" if last["status_code"] else last["error"]
        words.append(f"Try {delivery['tries']} at {last['started_at']} ended with {result}.")
    if status == "pending":
        words.append(f"The next try is at {delivery['next_attempt_at']}.")
    return " ".join(words)


def error_words(error: Exception) -> str:
    """Return what an assistant can do about a failed call."""
    if isinstance(error, NoAnswerError):
        return f"{error} It is unknown whether Florin acted. The same call again does nothing twice."
    if isinstance(error, ApiError) and error.retry_after is not None:
        return f"{error} Wait {error.retry_after} seconds before the next call."
    if isinstance(error, ApiError) and error.required_scope is not None:
        return f"{error} The key needs the scope {error.required_scope}."
    return str(error)


def _moments(checkout: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield checkout["created_at"], f"Created, for {checkout['amount']} {checkout['currency']}."
    for transfer in checkout["transfers"]:
        money = f"{transfer['amount']} {transfer['token']} on {transfer['chain']}"
        yield transfer["detected_at"], f"{money} was seen in transaction {transfer['tx_hash']}."
        if transfer["confirmed_at"]:
            yield transfer["confirmed_at"], f"{money} became final."
    if checkout["paid_at"]:
        yield checkout["paid_at"], "Paid."
    if checkout["status"] == "expired" and not checkout["cancelled"]:
        yield checkout["expires_at"], "The time to pay ended."


def _now(checkout: Mapping[str, Any]) -> Iterator[str]:
    status = checkout["status"]
    if status == "pending":
        yield f"Waits for a payment until {checkout['expires_at']}."
    if status == "underpaid":
        yield f"{checkout['amount_remaining']} {checkout['currency']} is missing."
    if checkout["cancelled"]:
        yield "It was cancelled."
    if checkout["exception"] and checkout["exception"] != status:
        yield f"Exception: {checkout['exception']}."
    for transfer in checkout["transfers"]:
        yield from _doubts(transfer)
    if Decimal(checkout["amount_refunded"]):
        yield f"{checkout['amount_refunded']} was sent back."
    if checkout["replaced_by"]:
        yield f"Its late money was credited to {checkout['replaced_by']}."
    if checkout["escrow_status"] == "held":
        yield "The money is in escrow. A person releases it."


def _doubts(transfer: Mapping[str, Any]) -> Iterator[str]:
    named = f"Transaction {transfer['tx_hash']}"
    if transfer["status"] == "orphaned":
        yield f"{named} was removed by a reorg. It counts again if it returns."
    elif transfer["status"] == "detected":
        yield f"{named} has {transfer['confirmations']} of {transfer['required_confirmations']} confirmations."
    if transfer["in_doubt"]:
        yield f"{named} is in doubt: its chain halted below it."
