"""Creates a checkout: one SQL statement for the row, its addresses, its count and the replay of an order_ref."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from math import ceil
from typing import Any

import orjson
from django.db import connection

from accounts.merchants.service import refuse_if_closed
from accounts.states import Mode
from checkouts.creation.dues import new_dues, offering
from checkouts.creation.forms import longest_expiry
from checkouts.creation.quotes import new_quote, quote_parameters
from checkouts.inputs import NewCheckout, NewQuote
from checkouts.lifecycle.counts import day_of
from checkouts.lifecycle.escrow import holdable
from checkouts.models import Checkout
from checkouts.reservations import is_exhausted
from checkouts.rows import COLUMNS, USD_COLUMNS, CheckoutRow
from checkouts.scenarios import steps_of
from checkouts.states import CheckoutStatus, TestScenario
from gateway.core.api.errors import ConflictError
from gateway.core.currencies import USD
from gateway.core.ids import new_code, new_id
from gateway.core.secrets import derive
from gateway.core.texts import pgettext_noop
from gateway.core.tracing import mark
from rates.selectors import weak_tokens
from settlements.sweeps.escrow import insert_holds
from wallets.forwarders.addresses import checksum, deposit_key
from wallets.networks import round_price_chains
from wallets.receiving.service import insert_deposits
from wallets.selectors import Offerable, offerable_chains
from wallets.watchers.demand import WATCH_AFTER_EXPIRY

_NOWHERE_TO_PAY = "Set up a receiving wallet on at least one available chain first."
_NOWHERE_TO_HOLD = "Set up a receiving wallet on {} first: money is held in escrow there alone."
_NOTHING_STABLE = pgettext_noop(
    "team", "Every token that could be offered is priced below 0.98 USD now; try again later."
)
_SAME_CENT = (
    "Another price with this order_ref comes to the same amount of USD, or the same order_ref is being created elsewhere; use"
    " another order_ref, or try again."
)
# The second try finds an order_ref that a concurrent request is creating.
_LOOKS = 5

_NOTHING = Decimal(0)

# Within the API's range, because test mode shortens the expiry of scenarios that expire.
_LEAST_SECONDS = 300


@dataclass(frozen=True, slots=True)
class CreatedCheckout:
    """The checkout, and whether this call created it (or found it by its order_ref)."""

    row: CheckoutRow
    is_new: bool


def create_checkout(merchant_id: int, mode: Mode, wanted: NewCheckout, *, now: datetime) -> CreatedCheckout:
    """Create a checkout, or return the one with the same order_ref, amount and currency.

    Identical concurrent calls create one checkout. Raises ConflictError: state_conflict where the merchant account is closed,
    receiving_wallet_missing (also where none of `wanted.pairs` can be offered), or capacity_exhausted where only exact-amount
    chains could be offered and the price has no amount left.

    A price in another currency than USD is converted here, once, unless it is a repeat; also raises RateUnavailableError, and
    InvalidRequestError (amount_out_of_range).
    """
    quote = None
    if wanted.currency != USD:
        if known := _known(merchant_id, mode, wanted):
            return CreatedCheckout(row=known, is_new=False)
        quote = new_quote(merchant_id, wanted, now=now)
    offerable = _chosen(offerable_chains(merchant_id, mode), mode, wanted)
    is_weak = False
    if mode == Mode.LIVE and (weak := weak_tokens()):
        strong = _without(weak, offerable)
        is_weak, offerable = bool(offerable) and not strong, strong
    if wanted.escrow:
        chains = offerable = holdable(offerable)
    else:
        amount = quote.usd_amount if quote else wanted.amount
        chains = _with_room(offerable, merchant_id, mode, wanted, amount, now)
    if not chains:
        return _repeated(merchant_id, mode, wanted, is_full=bool(offerable), is_weak=is_weak)
    parameters = _parameters(merchant_id, mode, wanted, chains, now, quote)
    statements = _STATEMENTS if quote is None else _PRICED_STATEMENTS
    statement = statements[mode == Mode.TEST, wanted.escrow]
    if mode == Mode.TEST:
        parameters |= _step_parameters(wanted, now)
    for _ in range(_LOOKS):
        with connection.cursor() as cursor:
            cursor.execute(statement, parameters)
            created_id, *known = cursor.fetchone()
        if known[0] is not None:
            return CreatedCheckout(row=CheckoutRow(*known), is_new=False)
        if created_id is not None:
            row = _row(created_id, parameters, quote)
            mark("checkout created", row.public_id, began=now, is_first=True)
            return CreatedCheckout(row=row, is_new=True)
        refuse_if_closed(merchant_id)
    raise ConflictError("The same order_ref is being created elsewhere; try again." if quote is None else _SAME_CENT)


def _without(weak: Collection[str], chains: Sequence[Offerable]) -> list[Offerable]:
    """Drop tokens that lost their peg, and chains that have no other."""
    left = (replace(chain, tokens=[token for token in chain.tokens if token not in weak]) for chain in chains)
    return [chain for chain in left if chain.tokens]


def _chosen(chains: list[Offerable], mode: Mode, wanted: NewCheckout) -> list[Offerable]:
    """Return the chains with the tokens that are wanted; in test mode, one that simulated money can come to is among them."""
    if not wanted.pairs:
        return chains
    found = (
        replace(chain, tokens=[token for token in chain.tokens if (chain.name, token) in wanted.pairs])
        for chain in chains
    )
    chosen = [chain for chain in found if chain.tokens]
    if mode == Mode.TEST and chosen and not holdable(chosen):
        # Simulated money comes to an address of the checkout's own, which exact-amount chains do not have.
        chosen += holdable(chains)[:1]
    return chosen


def _with_room(
    chains: list[Offerable], merchant_id: int, mode: Mode, wanted: NewCheckout, amount: Decimal, now: datetime
) -> list[Offerable]:
    """Drop exact-amount chains if an amount in USD has no exact amount left."""
    if not is_exhausted(merchant_id, mode, amount, now=now, for_links=wanted.is_from_link):
        return chains
    return holdable(chains)


def _repeated(merchant_id: int, mode: Mode, wanted: NewCheckout, *, is_full: bool, is_weak: bool) -> CreatedCheckout:
    """Return the checkout of an existing order_ref: a repeat is answered even if no chain can be offered now."""
    known = _known(merchant_id, mode, wanted)
    if known is None:
        refuse_if_closed(merchant_id)
    if known is None and is_weak:
        raise ConflictError(_NOTHING_STABLE)
    if known is None and is_full:
        raise ConflictError(
            pgettext_noop("team", "All exact amounts for {amount} {currency} are in use; try again later."),
            code="capacity_exhausted",
            values={"amount": wanted.amount, "currency": wanted.currency},
        )
    if known is None:
        missing = _NOWHERE_TO_HOLD.format(round_price_chains("or")) if wanted.escrow else _NOWHERE_TO_PAY
        raise ConflictError(missing, code="receiving_wallet_missing")
    return CreatedCheckout(row=known, is_new=False)


def _known(merchant_id: int, mode: Mode, wanted: NewCheckout) -> CheckoutRow | None:
    """Return the checkout that the same creation made before; None without a query for one that is never a repeat."""
    is_usd = wanted.currency == USD
    if wanted.creation_ref is None and not is_usd:
        return None
    parameters = _creation_key(merchant_id, mode, wanted)
    with connection.cursor() as cursor:
        cursor.execute(_KNOWN if is_usd else _KNOWN_PRICED, parameters | {"price": wanted.amount})
        known = cursor.fetchone()
    return None if known is None else CheckoutRow(*known)


def _creation_key(merchant_id: int, mode: Mode, wanted: NewCheckout) -> dict[str, Any]:
    return {
        "merchant": merchant_id,
        "mode": mode,
        "creation_ref": wanted.creation_ref,
        "amount": wanted.amount,
        "currency": wanted.currency,
    }


def _parameters(
    merchant_id: int,
    mode: Mode,
    wanted: NewCheckout,
    chains: list[Offerable],
    now: datetime,
    quote: NewQuote | None = None,
) -> dict[str, Any]:
    dues = new_dues(chains, wanted, quote, now=now)
    public_id = new_id(f"chk_{mode}")
    # The address can be derived again from the id and our keys if the row is lost.
    nonce = derive(f"deposit:{public_id}")
    destinations = list({chain.destination for chain in chains if chain.destination is not None})
    keys = {destination: deposit_key(destination, nonce) for destination in destinations}
    expires_at = now + timedelta(seconds=wanted.expires_in)
    parameters = _creation_key(merchant_id, mode, wanted) | {
        "public_id": public_id,
        "code": new_code(),
        "description": wanted.description,
        "metadata": wanted.metadata,
        "customer_email": wanted.customer_email,
        "redirect_url": _returning(wanted, public_id),
        "webhook_url": wanted.webhook_url,
        "again_url": wanted.again_url,
        "escrow": wanted.escrow,
        "customer_ref": wanted.customer_ref,
        "product_ref": wanted.product_ref,
        "order_ref": wanted.order_ref,
        "offers": orjson.dumps(_offers(offering(chains, dues), keys)).decode(),
        "dues": orjson.dumps(dues).decode() if dues else None,
        "nonce": nonce,
        "test_scenario": wanted.test_scenario if mode == Mode.TEST else "",
        "expires_at": expires_at,
        "created_at": now,
        "watched_until": expires_at + WATCH_AFTER_EXPIRY,
        # Twenty bytes an address, concatenated: arrays cost more to send than all the rest.
        "keys": b"".join(keys[destination] for destination in destinations),
        "destinations": b"".join(destinations),
        "day": day_of(now),
    }
    return parameters if quote is None else parameters | quote_parameters(wanted, quote)


def _returning(wanted: NewCheckout, public_id: str) -> str:
    """Return where the buyer is sent after payment."""
    return wanted.redirect_url.replace(wanted.id_mark, public_id) if wanted.id_mark else wanted.redirect_url


def _step_parameters(wanted: NewCheckout, now: datetime) -> dict[str, Any]:
    steps = steps_of(wanted.test_scenario, now)
    return {"step_kinds": [step.kind for step in steps], "step_times": [step.due_at for step in steps]}


def _offers(chains: list[Offerable], keys: dict[bytes, bytes]) -> dict[str, Any]:
    addresses = {destination: checksum(key) for destination, key in keys.items()}
    return {chain.name: _offer(chain, addresses) for chain in chains}


def _offer(chain: Offerable, addresses: dict[bytes, str]) -> dict[str, Any]:
    if chain.destination is None:
        return {"tokens": chain.tokens, "address": None, "wallet": chain.wallet}
    return {"tokens": chain.tokens, "address": addresses[chain.destination]}


def _row(created_id: int, parameters: dict[str, Any], quote: NewQuote | None = None) -> CheckoutRow:
    """Build the new row from its parameters, which saves a query."""
    return CheckoutRow(
        id=created_id,
        status=CheckoutStatus.PENDING,
        exception="",
        offers_json=parameters["offers"],
        amount_received=_NOTHING,
        accepted_amount=None,
        paid_at=None,
        cancelled_at=None,
        replaces=None,
        replaced_by=None,
        has_payments=False,
        dues_json=parameters["dues"],
        price=parameters.get("price"),
        quote_json=None if quote is None else _quote_json(parameters, quote),
        **{name: parameters[name] for name in _ECHOED},
    )


def _quote_json(parameters: dict[str, Any], quote: NewQuote) -> str:
    """Return what `checkouts.rows.COLUMNS` will read of the quote."""
    told = {name: f"{parameters[name]:f}" for name in ("price", "rate", "margin")}
    told |= {"usd_amount": f"{quote.usd_amount:f}", "taken_at": quote.taken_at.isoformat()}
    return orjson.dumps(told | {"evidence": quote.evidence}).decode()


_ECHOED = [
    "public_id",
    "code",
    "mode",
    "amount",
    "currency",
    "description",
    "metadata",
    "customer_ref",
    "product_ref",
    "order_ref",
    "expires_at",
    "created_at",
    "escrow",
]

_KNOWN = f"""
    SELECT {USD_COLUMNS} FROM checkouts_checkout c
    WHERE c.merchant_id = %(merchant)s AND c.mode = %(mode)s AND c.creation_ref = %(creation_ref)s::text
      AND c.amount = %(amount)s::numeric AND c.currency = %(currency)s AND c.price IS NULL
"""  # noqa: S608 - our own column list
# By what the merchant said: the rate may have moved.
_KNOWN_PRICED = f"""
    SELECT {COLUMNS} FROM checkouts_checkout c
    WHERE c.merchant_id = %(merchant)s AND c.mode = %(mode)s AND c.creation_ref = %(creation_ref)s::text
      AND c.price = %(price)s::numeric AND c.currency = %(currency)s
"""  # noqa: S608 - our own column list

_ADDRESSES = insert_deposits(
    "created, generate_series(0, length(%(keys)s::bytea) / 20 - 1) AS part",
    key="substr(%(keys)s::bytea, part * 20 + 1, 20)",
    destination="substr(%(destinations)s::bytea, part * 20 + 1, 20)",
    nonce="%(nonce)s::bytea",
    merchant="%(merchant)s",
    mode="%(mode)s",
    now="%(created_at)s::timestamptz",
    watched_until="%(watched_until)s::timestamptz",
)
# The unique constraint decides who is first. The statement fits it as it is, and as the next release will have it: for rows without a
# price alone (decision 33). A statement that inserts nothing looks for the existing row; a row that
# another transaction is writing right now is found when the statement runs again.
_ONCE = "(merchant_id, mode, creation_ref, amount, currency) WHERE creation_ref IS NOT NULL AND price IS NULL "


def _created(*, price: str = "", price_value: str = "", once: str = _ONCE) -> str:
    return f"""
    INSERT INTO checkouts_checkout (
        public_id, code, merchant_id, mode, status, exception, amount, {price}currency, description, metadata,
        customer_email, redirect_url, webhook_url, again_url, escrow, customer_ref, product_ref, order_ref, creation_ref, offers,
        dues, deposit_nonce, amount_received, underpaid_reported, event_count, test_scenario, expires_at, created_at)
    SELECT
        %(public_id)s, %(code)s, %(merchant)s, %(mode)s, '{CheckoutStatus.PENDING}', '', %(amount)s::numeric,{price_value}
        %(currency)s, %(description)s, %(metadata)s, %(customer_email)s, %(redirect_url)s, %(webhook_url)s,
        %(again_url)s, %(escrow)s::boolean, %(customer_ref)s, %(product_ref)s, %(order_ref)s, %(creation_ref)s::text, %(offers)s::jsonb,
        %(dues)s::jsonb, %(nonce)s::bytea, 0, 0, 0, %(test_scenario)s, %(expires_at)s::timestamptz, %(created_at)s::timestamptz
    FROM accounts_merchant WHERE id = %(merchant)s AND closed_at IS NULL
    ON CONFLICT {once}DO NOTHING
    RETURNING id
"""  # noqa: S608 - only our own constants are put in


_CREATED = _created()
# Two constraints hold such a row: the one that is named would let the other raise in a race. So none is.
_CREATED_PRICED = _created(price="price, ", price_value=" %(price)s::numeric,", once="")
_QUOTED = """
    INSERT INTO checkouts_quote (checkout_id, currency, price, usd_amount, rate, margin, evidence, taken_at)
    SELECT created.id, %(currency)s, %(price)s::numeric, %(amount)s::numeric, %(rate)s::numeric, %(margin)s::numeric,
           %(evidence)s::jsonb, %(taken_at)s::timestamptz
    FROM created
"""
_STEPS = """
    INSERT INTO checkouts_teststep (checkout_id, kind, due_at)
    SELECT created.id, s.kind, s.due_at
    FROM created, unnest(%(step_kinds)s::text[], %(step_times)s::timestamptz[]) AS s(kind, due_at)
"""
_HOLDS = insert_holds(
    "created",
    merchant="%(merchant)s",
    mode="%(mode)s",
    subject="%(public_id)s",
    nonce="%(nonce)s::bytea",
    now="%(created_at)s::timestamptz",
)
_COUNTED = f"""
    INSERT INTO checkouts_checkoutcount (merchant_id, mode, status, value)
    SELECT %(merchant)s, %(mode)s, '{CheckoutStatus.PENDING}', 1 FROM created
"""  # noqa: S608 - only our own constant is put in
_DATED = """
    INSERT INTO checkouts_dailytotal (
        merchant_id, mode, day, chain, token, created, completed, expired, volume, first_id, last_id)
    SELECT %(merchant)s, %(mode)s, %(day)s, '', '', 1, 0, 0, 0, created.id, created.id FROM created
"""


def _statement(*, is_test: bool, escrow: bool, is_priced: bool = False) -> str:
    """Return the statement that creates a checkout: only test mode has steps, only escrow a hold, and only other currencies a quote."""
    created, known = (_CREATED_PRICED, _KNOWN_PRICED) if is_priced else (_CREATED, _KNOWN)
    parts = {"created": created, "known": f"{known} AND NOT EXISTS (SELECT FROM created)", "addresses": _ADDRESSES}
    if is_priced:
        parts["quoted"] = _QUOTED
    if is_test:
        parts["steps"] = _STEPS
    if escrow:
        parts["held"] = _HOLDS
    parts |= {"counted": _COUNTED, "dated": _DATED}
    # Materialized, so that `known` does not run for a new checkout: joined in, it was measured to read the merchant's rows.
    queries = ", ".join(f"{name} AS MATERIALIZED ({sql})" for name, sql in parts.items())
    return f"""
        WITH {queries}
        SELECT created.id, known.* FROM (SELECT 1) one LEFT JOIN created ON TRUE LEFT JOIN known ON TRUE
    """  # noqa: S608 - only our own parts are put in


_STATEMENTS, _PRICED_STATEMENTS = (
    {
        (is_test, escrow): _statement(is_test=is_test, escrow=escrow, is_priced=is_priced)
        for is_test in (False, True)
        for escrow in (False, True)
    }
    for is_priced in (False, True)
)


def begin_again(checkout: Checkout, *, now: datetime) -> CheckoutRow:
    """Return the renewal of an expired checkout: same price, references, metadata and webhook address.

    Idempotent: all calls return the same one. The caller checks `may_begin_again` first. A price that is not in USD is quoted anew.
    Raises ConflictError (receiving_wallet_missing, capacity_exhausted), RateUnavailableError.
    """
    created = create_checkout(checkout.merchant_id, Mode(checkout.mode), _the_same(checkout), now=now)
    return created.row


def _the_same(checkout: Checkout) -> NewCheckout:
    lasted = ceil((checkout.expires_at - checkout.created_at).total_seconds())
    return NewCheckout(
        amount=checkout.asked_amount,
        currency=checkout.currency,
        description=checkout.description,
        metadata=checkout.metadata,
        customer_email=checkout.customer_email,
        redirect_url=checkout.redirect_url,
        webhook_url=checkout.webhook_url,
        expires_in=min(max(lasted, _LEAST_SECONDS), longest_expiry(checkout.currency)),
        customer_ref=checkout.customer_ref,
        product_ref=checkout.product_ref,
        order_ref=checkout.order_ref,
        # The renewal's scenario succeeds, whichever scenario made the first one expire.
        test_scenario=TestScenario.COMPLETED,
        again_for=checkout.public_id,
        escrow=checkout.escrow,
    )
