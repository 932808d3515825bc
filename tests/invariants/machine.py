"""Merchants, buyers, chains and workers doing anything they may, in any order, on real PostgreSQL.

An example runs in a savepoint that is rolled back, so examples start from the same empty database.
"""

import secrets
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from accounts.models import Merchant
from accounts.states import Mode
from checkouts.amounts import memo_of
from checkouts.attribution.queue import attribute_transfers
from checkouts.inbox.serializers import objects_by_key, parse_item_id
from checkouts.lifecycle.expiry import expire_due_checkouts
from checkouts.models import AmountReservation, Checkout, InboxItem, Payment
from checkouts.states import CheckoutStatus
from gateway.core import json
from gateway.core.money import round_up_to_cent, to_units
from tests.checkouts.watcher import Watcher, shown_bytes
from tests.factories import NOON, make_checkout, make_merchant
from tests.invariants import rules
from tests.webhooks.listed.test_publishing import listed
from wallets.models import ChainCursor, ReceivingWallet, Transfer
from wallets.transfers.service import NewTransfer, confirm_through, orphan_above
from webhooks.models import Endpoint, Event
from webhooks.outbox.events import NewEvent, publish

TOKEN = "USDT"


def _exact(checkout: Checkout) -> int:
    held = AmountReservation.objects.filter(checkout=checkout).order_by("pk").last()
    return to_units(held.price) + held.suffix if held else _price(checkout)


def _price(checkout: Checkout) -> int:
    return to_units(checkout.amount)


# What arrives, for a checkout whose buyer means to pay.
WALLET_SENDS = {
    "the exact amount": _exact,
    "the exact amount, as always": _exact,
    "the round price": _price,
    "cut to four decimals": lambda checkout: _exact(checkout) // 100 * 100,
    "less a fee of a dollar": lambda checkout: max(_exact(checkout) - 1_000_000, 1),
    "what is near": lambda checkout: _price(checkout) - 40_000,
    "dust": lambda _: 9_999,
}


class TronTill:
    """A merchant's wallet on Tron. Amounts are held for ever: nothing in these examples lasts long enough to cool."""

    def __init__(self, merchant: Merchant) -> None:
        self.merchant = merchant
        key = secrets.token_bytes(20)
        self.wallet = ReceivingWallet.objects.create(merchant=merchant, chain="tron", address=f"T{key.hex()}", key=key)

    def is_offered_by(self, checkout: Checkout) -> None:
        """Have a new checkout offer the wallet too."""
        offer = {"tokens": [TOKEN], "address": None, "wallet": self.wallet.address}
        checkout.offers = {**checkout.offers, "tron": offer}
        checkout.save(update_fields=["offers"])

    def reserve_what_is_due(self, checkout: Checkout, *, now: datetime) -> None:
        """Hold an exact amount, as choosing an option does while there is something to pay."""
        checkout.refresh_from_db()
        is_over = checkout.is_final or now >= checkout.expires_at
        if is_over or checkout.amount_received >= checkout.amount:
            return
        price = round_up_to_cent(checkout.amount - checkout.amount_received)
        place = {"merchant": self.merchant, "mode": checkout.mode, "price": price}
        if AmountReservation.objects.filter(checkout=checkout, price=price).exists():
            return
        taken = AmountReservation.objects.filter(**place).count()
        reference = secrets.token_bytes(32)
        AmountReservation.objects.create(
            checkout=checkout,
            suffix=3_700 + 42 * taken,
            reference=reference,
            memo=memo_of(reference),
            reserved_at=now,
            **place,
        )

    def transfer(self, watcher: Watcher, units: int, *, at: datetime, label_of: Checkout | None) -> NewTransfer:
        """Return money that arrives in the wallet, in a block of its own."""
        watcher.height += 1
        held = AmountReservation.objects.filter(checkout=label_of).last()
        return NewTransfer(
            chain="tron",
            tx_hash=secrets.token_hex(32),
            position=0,
            token=TOKEN,
            token_address="a token",
            units=units,
            sender="anybody",
            recipient=self.wallet.address,
            deposit_id=None,
            wallet_id=self.wallet.pk,
            labels=(held.memo,) if held else (),
            merchant_id=self.merchant.pk,
            mode="live",
            block_height=watcher.height,
            block_hash=secrets.token_hex(32),
            block_time=at,
        )


CHAINS = ("base", "polygon", "ethereum", "tron")
MOST_CHECKOUTS = 5
GRACE = timedelta(seconds=60)
# What a buyer sends, as a function of the price in base units: boundaries first, accidents after.
SENDS = {
    "the price": lambda price: price,
    "all that is needed": lambda price: price - max(price // 100, 50_000),
    "a unit too little": lambda price: price - max(price // 100, 50_000) - 1,
    "half": lambda price: price // 2,
    "a third": lambda price: price // 3,
    "a unit too much": lambda price: price + max(price // 100, 50_000) + 1,
    "double": lambda price: 2 * price,
    "dust": lambda _: 9_999,
    "a cent": lambda _: 10_000,
    "everything there is": lambda _: 2**255,
}
# Where and in what: mostly as asked for.
MONEY = [("base", "USDC")] * 4 + [("polygon", "USDC"), ("polygon", "USDT"), ("ethereum", "USDC"), ("base", "USDbC")]
sends = st.lists(st.sampled_from(["the price", "a third", "a third", *sorted(SENDS)]), min_size=1, max_size=2)
# Seconds after its checkout's end at which money is mined; None is now, whenever that is.
moments = st.sampled_from([None, None, None, None, 60, 61])
which = st.integers(0, 1_000)
chains = st.sampled_from(["base", "base", "polygon", "ethereum"])
# How large a batch the workers take after something happened; none where the bell was lost.
bells = st.sampled_from([None, 1, 2, 500])


class _KilledError(Exception):
    """The process dies before it commits."""


class MoneyMachine(RuleBasedStateMachine):
    """The world and what may happen in it. After every step the rules of `rules.py` are asked."""

    def __init__(self) -> None:
        super().__init__()
        self.savepoint = transaction.atomic()
        self.savepoint.__enter__()
        self.now = NOON
        self.watchers = {chain: Watcher(chain) for chain in CHAINS}
        self.checkouts: list[Checkout] = []
        # Everything the chains ever told, by the name a transfer has there.
        self.told: dict[tuple[str, str, int], NewTransfer] = {}
        self.finals: dict[int, str] = {}

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.savepoint.__exit__(None, None, None)

    @initialize()
    def merchants_exist(self) -> None:
        self.merchants = [make_merchant("Halden Roasters"), make_merchant("Fjord Books")]
        self.tills = [TronTill(merchant) for merchant in self.merchants]
        # One merchant listens, also to what has to be chosen, the other reads its events from the list.
        Endpoint.objects.create(
            merchant=self.merchants[0], mode="live", url="https://halden.example/hook", is_default=True
        )
        listed(self.merchants[0], "https://desk.halden.example/", *settings.WEBHOOK_OPT_IN_TYPES)
        self._create(0, "25.00", 30)

    @precondition(lambda self: len(self.checkouts) < MOST_CHECKOUTS)
    @rule(
        merchant=st.integers(0, 1),
        amount=st.sampled_from(["0.10", "5.00", "25.00", "100.01"]),
        minutes=st.sampled_from([5, 30]),
    )
    def create_checkout(self, merchant: int, amount: str, minutes: int) -> None:
        self._create(merchant, amount, minutes)

    def _create(self, merchant: int, amount: str, minutes: int) -> None:
        checkout = make_checkout(
            self.merchants[merchant],
            amount=Decimal(amount),
            created_at=self.now,
            expires_at=self.now + timedelta(minutes=minutes),
        )
        self.tills[merchant].is_offered_by(checkout)
        self.checkouts.append(checkout)

    @rule(who=which)
    def choose_exact_amount(self, who: int) -> None:
        checkout = self.checkouts[who % len(self.checkouts)]
        till = self._till_of(checkout)
        till.reserve_what_is_due(checkout, now=self.now)

    @rule(
        who=which,
        sent=st.sampled_from(sorted(WALLET_SENDS)),
        labelled=st.sampled_from([None, None, None, *range(5)]),
        is_final=st.booleans(),
        bell=bells,
    )
    def see_money_in_a_wallet(
        self, who: int, sent: str, labelled: int | None, is_final: bool, bell: int | None
    ) -> None:
        checkout = self.checkouts[who % len(self.checkouts)]
        named = None if labelled is None else self.checkouts[labelled % len(self.checkouts)]
        watcher = self.watchers["tron"]
        arriving = self._till_of(checkout).transfer(watcher, WALLET_SENDS[sent](checkout), at=self.now, label_of=named)
        self._record(watcher, [arriving])
        if is_final:
            watcher.confirms(now=self.now)
        self._ring(bell)

    def _till_of(self, checkout: Checkout) -> TronTill:
        return self.tills[self.merchants.index(checkout.merchant)]

    @rule(who=which, money=st.sampled_from(MONEY), sent=sends, moment=moments, is_final=st.booleans(), bell=bells)
    def see_transfers(
        self, who: int, money: tuple[str, str], sent: list[str], moment: int | None, is_final: bool, bell: int | None
    ) -> None:
        chain, token = money
        checkout = self.checkouts[who % len(self.checkouts)]
        if moment is not None:
            mined_at = checkout.expires_at + timedelta(seconds=moment)
            self.now = max(self.now, mined_at)
        price = int(checkout.amount * 1_000_000)
        watcher = self.watchers[chain]
        seen = [watcher.transfer_to(checkout, SENDS[send](price), at=self.now, token=token) for send in sent]
        # One transaction may carry several transfers.
        seen = [
            replace(
                transfer,
                tx_hash=seen[0].tx_hash,
                block_height=seen[0].block_height,
                block_hash=seen[0].block_hash,
                position=position,
            )
            for position, transfer in enumerate(seen)
        ]
        self._record(watcher, seen)
        if is_final:
            watcher.confirms(now=self.now)
        self._ring(bell)

    @precondition(lambda self: self.told)
    @rule(pick=which)
    def see_a_block_again(self, pick: int) -> None:
        transfer = self._pick(pick)
        row = Transfer.objects.get(chain=transfer.chain, tx_hash=transfer.tx_hash, position=transfer.position)
        if row.block_hash == transfer.block_hash and row.state != "orphaned":
            before = Transfer.objects.values().get(pk=row.pk)
            self._record(self.watchers[transfer.chain], [transfer])
            assert Transfer.objects.values().get(pk=row.pk) == before

    @rule(chain=chains, depth=st.sampled_from([0, 0, 1, 2]), bell=bells)
    def confirm(self, chain: str, depth: int, bell: int | None) -> None:
        confirm_through(chain, self.watchers[chain].height - depth, now=self.now)
        self._ring(bell)

    @rule(chain=chains, depth=st.integers(1, 4), bell=bells)
    def reorganise(self, chain: str, depth: int, bell: int | None) -> None:
        orphan_above(chain, self.watchers[chain].height - depth, now=self.now)
        self._ring(bell)

    @precondition(lambda self: self.told)
    @rule(pick=which, bell=bells)
    def mine_again(self, pick: int, bell: int | None) -> None:
        transfer = self._pick(pick)
        watcher = self.watchers[transfer.chain]
        row = Transfer.objects.get(chain=transfer.chain, tx_hash=transfer.tx_hash, position=transfer.position)
        if row.state == "confirmed":
            return
        watcher.height += 1
        again = replace(transfer, block_height=watcher.height, block_hash=f"0x{secrets.token_hex(32)}")
        self._record(watcher, [again])
        self._ring(bell)

    def _record(self, watcher: Watcher, transfers: list[NewTransfer]) -> None:
        watcher.records(transfers, now=self.now)
        self.told |= {(t.chain, t.tx_hash, t.position): t for t in transfers}

    def _pick(self, pick: int) -> NewTransfer:
        return list(self.told.values())[pick % len(self.told)]

    @rule(reached=st.sampled_from([CHAINS, CHAINS, CHAINS[:1], CHAINS[1:2]]))
    def read_through(self, reached: tuple[str, ...]) -> None:
        for chain in reached:
            self.watchers[chain].read_through(self.now)

    @rule(seconds=st.sampled_from([1, 10, 60, 61, 300, 600, 1_800, 86_400]))
    def let_time_pass(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    def _ring(self, bell: int | None) -> None:
        if bell is not None:
            self.attribute(batch=bell)

    @rule(batch=st.integers(1, 5))
    def attribute(self, batch: int) -> None:
        waiting = Transfer.objects.queued().count()
        before = set(Event.objects.values_list("pk", flat=True))
        assert attribute_transfers(now=self.now, batch=batch) == waiting
        assert not Transfer.objects.queued().exists()
        if waiting <= batch:
            self._events_show_what_get_shows(before)

    @rule(batch=st.integers(1, 5))
    def attribute_and_die(self, batch: int) -> None:
        try:
            with transaction.atomic():
                attribute_transfers(now=self.now, batch=batch)
                raise _KilledError
        except _KilledError:
            pass

    @rule()
    def expire(self) -> None:
        due = {pk for pk in self._live() if self._is_due(pk)}
        before = set(Event.objects.values_list("pk", flat=True))
        assert expire_due_checkouts(now=self.now) == len(due)
        expired = Checkout.objects.filter(pk__in=due, status=CheckoutStatus.EXPIRED)
        assert expired.count() == len(due)
        self._events_show_what_get_shows(before)

    def _live(self) -> list[int]:
        live = Checkout.objects.filter(status__in=["pending", "underpaid"])
        return list(live.values_list("pk", flat=True))

    def _is_due(self, pk: int) -> bool:
        checkout = Checkout.objects.get(pk=pk)
        read = dict(ChainCursor.objects.values_list("chain", "read_through_at"))
        is_read = all(_after(read.get(chain), checkout.expires_at + GRACE) for chain in checkout.offers)
        is_given_up = self.now >= checkout.expires_at + timedelta(days=1)
        mine = Transfer.objects.filter(deposit__nonce=checkout.deposit_nonce)
        unjudged = Transfer.objects.filter(merchant=checkout.merchant, wallet__isnull=False, decided_at=None)
        unsure = Payment.objects.filter(checkout=pk).filter(
            Q(transfer__state="detected") | Q(transfer__queued_at__isnull=False)
        )
        return (
            self.now >= checkout.expires_at
            and (is_read or is_given_up)
            and not mine.queued().exists()
            and (is_given_up or not unjudged.queued().exists())
            and not unsure.exists()
        )

    def _events_show_what_get_shows(self, before: set[int]) -> None:
        for event in Event.objects.exclude(pk__in=before):
            if event.subject_id.startswith("inb_"):
                item = InboxItem.objects.get(**(parse_item_id(event.subject_id) or {}))
                shown = json.dumps(objects_by_key([item.pk])[item.pk])
            else:
                shown = shown_bytes(Checkout.objects.get(public_id=event.subject_id))
            if event.type == "checkout.transfer_confirmed":
                shown = shown[:-1] + b',"changed_transfer":'
                assert b'"data":' + shown in bytes(event.body)
            else:
                assert bytes(event.body).endswith(b'"data":' + shown + b"}")

    @precondition(lambda self: Event.objects.exists())
    @rule(pick=which)
    def tell_again(self, pick: int) -> None:
        events = list(Event.objects.order_by("pk"))
        event = events[pick % len(events)]
        again = NewEvent(
            merchant_id=event.merchant_id,
            mode=Mode(event.mode),
            type=event.type,
            subject_id=event.subject_id,
            occurrence=event.occurrence,
            data=b"{}",
        )
        assert publish([again], now=self.now) == []

    @precondition(lambda self: self.finals)
    @rule(pick=which, wanted=st.sampled_from(sorted(CheckoutStatus)))
    def meddle_with_a_final_status(self, pick: int, wanted: str) -> None:
        pk, status = sorted(self.finals.items())[pick % len(self.finals)]
        if wanted == status:
            return
        paid_at = self.now if wanted == "completed" else None
        try:
            with transaction.atomic():
                Checkout.objects.filter(pk=pk).update(status=wanted, paid_at=paid_at)
        except IntegrityError:
            return
        raise AssertionError(f"{status} became {wanted}")

    @invariant()
    def money_is_accounted_for(self) -> None:
        rules.every_transfer_is_credited_at_most_once()
        rules.no_transfer_is_lost(self.told)
        rules.only_the_right_money_is_credited()
        rules.sums_are_those_of_the_transfers()

    @invariant()
    def statuses_follow_the_facts_and_final_ones_stay(self) -> None:
        rules.statuses_move_as_the_contract_says()
        rules.settled_statuses_follow_from_the_facts()
        statuses = dict(Checkout.objects.values_list("pk", "status"))
        for pk, status in self.finals.items():
            assert statuses[pk] == status
        self.finals |= {pk: status for pk, status in statuses.items() if status in {"completed", "expired"}}

    @invariant()
    def everything_is_told_and_counted(self) -> None:
        rules.each_move_with_an_event_has_one()
        rules.every_event_is_on_its_way()
        rules.what_was_chosen_is_told(self.merchants[0].pk)
        rules.events_are_numbered_without_gaps()
        rules.counts_are_those_of_the_rows()
        rules.days_are_those_of_the_rows()


def _after(moment: datetime | None, limit: datetime) -> bool:
    return moment is not None and moment > limit
