"""Plays a chain's watcher: it calls the services that the real one calls, in its order, with blocks of its own."""

import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from accounts.states import Mode
from checkouts.attribution.queue import attribute_transfers
from checkouts.models import Checkout, InboxItem, Payment
from checkouts.selectors import checkout_object, checkout_row
from checkouts.states import CheckoutStatus
from gateway.core import json
from gateway.core.money import to_units
from tests.factories import NOON, body_of, make_checkout
from wallets.models import ChainCursor, DepositAddress, DepositOutflow, Transfer
from wallets.networks import chain_spec
from wallets.states import TransferState
from wallets.transfers.service import NewTransfer, confirm_through, orphan_above, record_transfers
from webhooks.models import Event

SOON = NOON + timedelta(minutes=1)
DOLLAR = 1_000_000


class Watcher:
    """The watcher of one chain. Every transfer gets a block of its own, one above the last."""

    def __init__(self, chain: str = "base", height: int = 100) -> None:
        self.chain = chain
        self.height = height

    def sees(
        self, checkout: Checkout, units: int = 25 * DOLLAR, *, at: datetime = SOON, token: str = "USDC"
    ) -> Transfer:
        """Record a transfer to the checkout's address in the next block."""
        return self.records([self.transfer_to(checkout, units, at=at, token=token)])[0]

    def records(self, transfers: Sequence[NewTransfer], *, now: datetime = SOON) -> list[Transfer]:
        """Record transfers; return the rows that were new or came back."""
        ids = record_transfers(transfers, now=now)
        return list(Transfer.objects.filter(pk__in=ids).order_by("pk"))

    def transfer_to(
        self, checkout: Checkout, units: int = 25 * DOLLAR, *, at: datetime = SOON, token: str = "USDC"
    ) -> NewTransfer:
        """Return a transfer to the checkout's address, mined in a new block."""
        deposit = DepositAddress.objects.get(nonce=checkout.deposit_nonce, merchant=checkout.merchant_id)
        self.height += 1
        known = chain_spec(self.chain).tokens.get(token)
        return NewTransfer(
            chain=self.chain,
            tx_hash=f"0x{secrets.token_hex(32)}",
            position=0,
            token=token,
            token_address=known.address if known else f"0x{'ee' * 20}",
            units=units,
            sender=f"0x{'5e' * 20}",
            recipient=checkout.offers["base"]["address"],
            deposit_id=deposit.pk,
            merchant_id=checkout.merchant_id,
            mode=checkout.mode,
            block_height=self.height,
            block_hash=f"0x{secrets.token_hex(32)}",
            block_time=at,
        )

    def confirms(self, through: Transfer | None = None, *, now: datetime = SOON) -> None:
        """Make everything final, or everything up to a transfer's block; a second node vouches for large amounts."""
        height = self.height if through is None else through.block_height
        confirm_through(self.chain, height, now=now)
        large = Transfer.objects.filter(chain=self.chain, block_height__lte=height, state=TransferState.DETECTED)
        large.update(state=TransferState.CONFIRMED, confirmed_at=now, queued_at=now)

    def loses(self, transfer: Transfer, *, now: datetime = SOON) -> None:
        """Reorganise: the transfer's block and all above it are gone."""
        orphan_above(self.chain, transfer.block_height - 1, now=now)

    def finds_again(self, transfer: Transfer, **changes: Any) -> Transfer:
        """See a transaction again, mined in a new block."""
        self.height += 1
        names = set(NewTransfer.__dataclass_fields__) & {field.attname for field in Transfer._meta.concrete_fields}
        known = {name: getattr(transfer, name) for name in names}
        known |= {"units": int(transfer.units), "block_height": self.height, "block_hash": f"0x{secrets.token_hex(32)}"}
        [row] = self.records([NewTransfer(**(known | changes))])
        return row

    def read_through(self, at: datetime) -> None:
        """Finish a pass, begun at `at`, up to a head the sources agree on."""
        ChainCursor.objects.update_or_create(chain=self.chain, defaults={"read_through_at": at, "height": self.height})


def attribute(*, now: datetime = SOON, batch: int = 500) -> int:
    """Deal with the queue."""
    return attribute_transfers(now=now, batch=batch)


def pay(checkout: Checkout, units: int = 25 * DOLLAR, *, watcher: Watcher | None = None) -> Transfer:
    """See a transfer, confirm it and attribute it."""
    watcher = watcher or Watcher(height=_top())
    transfer = watcher.sees(checkout, units)
    watcher.confirms(transfer)
    attribute()
    return transfer


def make_outflow(checkout: Checkout, units: int, *, chain: str = "base") -> None:
    """Record, as final, that a third party sent so much USDC of a checkout's forwarder on to the merchant."""
    deposit = DepositAddress.objects.get(nonce=checkout.deposit_nonce)
    DepositOutflow.objects.create(
        deposit=deposit,
        chain=chain,
        token="USDC",
        tx_hash=f"0x{secrets.token_hex(32)}",
        position=0,
        units=units,
        recipient=f"0x{bytes(deposit.destination).hex()}",
        block_height=1,
        block_hash=f"0x{'ef' * 32}",
        block_time=NOON,
        detected_at=NOON,
        state=TransferState.CONFIRMED,
        confirmed_at=NOON,
    )


def _top() -> int:
    highest = Transfer.objects.order_by("-block_height").first()
    return highest.block_height if highest else 100


def fresh(checkout: Checkout) -> Checkout:
    """The checkout as the database has it now."""
    return Checkout.objects.get(pk=checkout.pk)


def events_of(checkout: Checkout) -> list[str]:
    """The types of a checkout's events, without their prefix, in their order."""
    events = Event.objects.filter(subject_id=checkout.public_id).order_by("sequence")
    return [kind.removeprefix("checkout.") for kind in events.values_list("type", flat=True)]


def last_body(checkout: Checkout) -> dict[str, Any]:
    """The body of a checkout's newest event."""
    events = Event.objects.filter(subject_id=checkout.public_id)
    return body_of(bytes(events.order_by("-sequence")[0].body))


def shown(checkout: Checkout) -> dict[str, Any]:
    """What GET answers for the checkout now."""
    return body_of(shown_bytes(checkout))


def shown_bytes(checkout: Checkout) -> bytes:
    """The bytes of what GET answers for the checkout now."""
    row = checkout_row(checkout.merchant_id, Mode(checkout.mode), checkout.public_id)
    return json.dumps(checkout_object(row))


def inbox_of(checkout: Checkout) -> list[str]:
    """Why transfers meant for the checkout lie in the inbox."""
    items = InboxItem.objects.filter(checkout=checkout).order_by("pk")
    return list(items.values_list("reason", flat=True))


def credited(checkout: Checkout) -> int:
    """How many transfers were credited to the checkout."""
    return Payment.objects.filter(checkout=checkout).count()


def received(checkout: Checkout) -> int:
    """The units a checkout says it received."""
    return to_units(fresh(checkout).amount_received)


def status_of(checkout: Checkout) -> str:
    """The checkout's status now."""
    return fresh(checkout).status


def in_status(status: CheckoutStatus) -> tuple[Checkout, Watcher]:
    """A checkout of 25 USD brought into a live status by money on Base."""
    checkout, watcher = make_checkout(), Watcher()
    if status == CheckoutStatus.PROCESSING:
        watcher.sees(checkout)
    if status == CheckoutStatus.UNDERPAID:
        watcher.sees(checkout, 10 * DOLLAR)
        watcher.confirms()
    attribute()
    assert status_of(checkout) == status
    return checkout, watcher


def assert_set_aside(transfer: Transfer) -> None:
    """The row waits behind the others, undecided; nothing of it was written."""
    transfer.refresh_from_db()
    assert transfer.decided_at is None
    assert transfer.queued_at is not None
    assert transfer.queued_at > SOON
