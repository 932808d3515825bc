"""What must be true of an installation once it is quiet, judged by what the nodes and the receiver themselves say."""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal

import psycopg
import standardwebhooks
import stripe

from tests.florin import Florin, OnChain
from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.webhooks.receiver import Got

QUIET_SECONDS = PATIENCE_SECONDS
SIGNATURE_HEADER = "X-Service-Signature"
_CURSORS = "SELECT chain, owner, fence, lease_until, head_at, last_error, halted_reason, clock_timestamp() FROM wallets_chaincursor"
_CONNECTIONS = """
    SELECT application_name, pid, state, wait_event, pg_blocking_pids(pid), clock_timestamp() - xact_start, left(query, 200)
    FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() ORDER BY 1, 2
"""


def settle(installation: Florin, *, seconds: float = QUIET_SECONDS) -> None:
    """Make everything final that is on the chains, and return once all is as it must be; else tell what is not."""
    installation.finalize()
    await_order(installation, seconds=seconds)


def await_order(installation: Florin, *, seconds: float = QUIET_SECONDS) -> None:
    """Return once the audit finds nothing; fail with what it finds after `seconds`."""
    await_that(installation, lambda: next(audit(installation), None) is None, seconds=seconds)


def await_that(installation: Florin, condition: Callable[[], object], *, seconds: float = QUIET_SECONDS) -> None:
    """Return once `condition()` is true; after `seconds` fail with what the audit finds, and what everybody does and said."""
    try:
        wait_until(condition, seconds=seconds)
    except AssertionError as error:
        found = list(audit(installation)) or ["in order, but too late"]
        raise AssertionError("\n".join([str(error), *found, *last_words(installation)])) from None


def last_words(installation: Florin) -> Iterator[str]:
    """What the processes hold, do and said in the end, for whoever must find out why."""
    for rows in (_CURSORS, _CONNECTIONS):
        yield from map(str, installation.database.rows(rows))
    for name in installation.names:
        yield f"{name}: {installation.log(name).read_text()[-1_000:]}"


def audit(installation: Florin) -> Iterator[str]:
    """What is wrong, in words; nothing when every transfer is credited once and every event is delivered."""
    try:
        for part in _PARTS:
            yield from part(installation)
    except psycopg.OperationalError as error:
        yield f"the database is away: {error}"


def _transfers(installation: Florin) -> Iterator[str]:
    """Compare what the nodes hold with what was recorded."""
    on_chain = Counter(map(_in_lower_case, installation.payments()))
    recorded = Counter(
        _in_lower_case((chain, tx, token, recipient, int(units)))
        for chain, tx, token, recipient, units in installation.database.rows(
            "SELECT chain, tx_hash, token_address, recipient, units FROM wallets_transfer WHERE state <> 'orphaned'"
        )
    )
    for payment, count in (on_chain - recorded).items():
        yield f"on chain and not recorded ({count}): {payment}"
    for payment, count in (recorded - on_chain).items():
        yield f"recorded and not on chain ({count}): {payment}"


def _in_lower_case(payment: OnChain) -> OnChain:
    """Nodes write EVM addresses without the checksum that is in their case."""
    chain, tx, token, recipient, units = payment
    return chain, tx, token.lower(), recipient.lower(), units


def _credits(installation: Florin) -> Iterator[str]:
    """Each standing transfer is dealt with: credited once, or in an inbox."""
    rows = installation.database.rows("""
        SELECT t.id, t.state, t.queued_at IS NOT NULL,
            (SELECT count(*) FROM checkouts_payment p WHERE p.transfer_id = t.id),
            (SELECT count(*) FROM wallets_transferclaim c WHERE c.transfer_id = t.id),
            (SELECT count(*) FROM checkouts_inboxitem i WHERE i.transfer_id = t.id)
        FROM wallets_transfer t
    """)
    for pk, state, is_queued, payments, claims, items in rows:
        if is_queued:
            yield f"transfer {pk} waits to be dealt with"
        if payments > 1 or payments != claims:
            yield f"transfer {pk} is credited {payments} times, claimed {claims} times"
        if state == "orphaned":
            continue
        if state != "confirmed":
            yield f"transfer {pk} is final on chain and {state} here"
        if not payments and not items:
            yield f"transfer {pk} is neither credited nor in an inbox"


def _owners(installation: Florin) -> Iterator[str]:
    """What is credited went to the checkout it was meant for."""
    rows = installation.database.rows("""
        SELECT t.chain, t.tx_hash, c.public_id FROM checkouts_payment p
        JOIN wallets_transfer t ON t.id = p.transfer_id JOIN checkouts_checkout c ON c.id = p.checkout_id
    """)
    for chain, tx, public_id in rows:
        meant = installation.meant.get((chain, tx), public_id)
        if meant != public_id:
            yield f"{tx} on {chain} was meant for {meant} and credited to {public_id}"


def _checkouts(installation: Florin) -> Iterator[str]:
    """Sums and statuses follow from the credited transfers that stand."""
    rows = installation.database.rows("""
        SELECT c.public_id, c.status, c.exception, c.amount, c.amount_received,
            coalesce(sum(t.units) FILTER (WHERE t.state <> 'orphaned'), 0),
            coalesce(sum(t.units) FILTER (WHERE t.state = 'confirmed'), 0),
            (SELECT count(*) FROM webhooks_event e
             WHERE e.subject_id = c.public_id AND e.type = 'checkout.completed'),
            coalesce((SELECT e.type = 'checkout.reversed' FROM webhooks_event e
             WHERE e.subject_id = c.public_id AND e.type IN ('checkout.reversed', 'checkout.restored')
             ORDER BY e.sequence DESC LIMIT 1), false)
        FROM checkouts_checkout c
        LEFT JOIN checkouts_payment p ON p.checkout_id = c.id
        LEFT JOIN wallets_transfer t ON t.id = p.transfer_id
        GROUP BY c.id
    """)
    for public_id, status, exception, amount, received, seen, confirmed, told, reversed_ in rows:
        if received * 10**6 != seen:
            yield f"{public_id} says it received {received} and was credited {seen}"
        wanted = _status(status, exception, amount, seen=seen, confirmed=confirmed)
        if status != wanted:
            yield f"{public_id} is {status} and should be {wanted}"
        if reversed_ != (exception == "reversed"):
            yield f"{public_id} is {exception or 'in order'} and was told otherwise"
        if told != (status == "completed"):
            yield f"{public_id} is {status} and was told completed {told} times"


def _status(status: str, exception: str, amount: Decimal, *, seen: Decimal, confirmed: Decimal) -> str:
    price = amount * 10**6
    needed = price - max(price / 100, Decimal(50_000))
    if confirmed >= needed or exception == "reversed":
        return "completed"
    if seen >= needed:
        return "processing"
    if not confirmed:
        return "pending"
    return "underpaid" if seen == confirmed else status


def _counts(installation: Florin) -> Iterator[str]:
    """The kept counts behind `total`, and the kept days, are those of the rows."""
    kept = installation.database.rows("SELECT status, sum(value) FROM checkouts_checkoutcount GROUP BY status")
    counted = installation.database.rows("SELECT status, count(*) FROM checkouts_checkout GROUP BY status")
    if {status: int(n) for status, n in kept if n} != dict(counted):
        yield f"the kept counts are {kept}, the rows {counted}"
    days = installation.database.rows(
        "SELECT sum(created), sum(completed), sum(expired), sum(volume) FROM checkouts_dailytotal"
    )
    summed = installation.database.rows(
        "SELECT count(*), count(paid_at), count(*) FILTER (WHERE status = 'expired'),"
        " sum(round(COALESCE(accepted_amount, amount), 2)) FILTER (WHERE paid_at IS NOT NULL AND exception <> 'reversed') FROM checkouts_checkout"
    )
    if [[n or 0 for n in row] for row in days] != [[n or 0 for n in row] for row in summed]:
        yield f"the kept days add up to {days}, the rows to {summed}"


def _events(installation: Florin) -> Iterator[str]:
    """Numbers have no gap, and every event arrived, byte for byte, signed."""
    rows = installation.database.rows("SELECT public_id, sequence, body FROM webhooks_event ORDER BY sequence")
    numbers = [number for _, number, _ in rows]
    if numbers != list(range(1, len(rows) + 1)):
        yield f"the events are numbered {numbers}"
    if (last := installation.database.value("SELECT value FROM webhooks_eventcounter")) is None:
        last = 0
    if last != len(rows):
        yield f"the event counter stands at {last}, there are {len(rows)} events"
    bodies = {public_id: bytes(body) for public_id, _, body in rows}
    arrived = {got.headers["webhook-id"] for got in installation.receiver.got}
    for lost in bodies.keys() - arrived:
        yield f"event {lost} never arrived"
    for got in list(installation.receiver.got):
        if got.body != bodies.get(got.headers["webhook-id"]):
            yield f"a body arrived that is not event {got.headers['webhook-id']}"
        if not is_signed(got, installation.webhook_secret):
            yield f"event {got.headers['webhook-id']} arrived with a bad signature"


def is_signed(got: Got, secret: str) -> bool:
    """Whether the published verifiers of both header families accept a request."""
    # A shared installation lives longer than a signature may be old.
    at = datetime.fromtimestamp(int(got.headers["webhook-timestamp"]), UTC)
    body, told = got.body.decode(), got.headers["webhook-signature"].split(" ")
    try:
        stripe.WebhookSignature.verify_header(body, got.headers[SIGNATURE_HEADER], secret, tolerance=None)
    except stripe.SignatureVerificationError:
        return False
    webhook = standardwebhooks.Webhook(secret)
    return webhook.sign(got.headers["webhook-id"], at, body) in told


def _deliveries(installation: Florin) -> Iterator[str]:
    rows = installation.database.rows(
        "SELECT public_id, status, tries FROM webhooks_delivery WHERE status <> 'delivered'"
    )
    for public_id, status, tries in rows:
        yield f"delivery {public_id} is {status} after {tries} tries"


_PARTS = (_transfers, _credits, _owners, _checkouts, _counts, _events, _deliveries)
