"""Payouts by transactions of ours on local nodes of Solana, Tron and TON: the wallet signs one at a time, and each ends."""

import base64
import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from accounts.audit.actors import Actor
from accounts.models import Merchant
from accounts.states import Mode
from gateway.core.api.errors import ConflictError, InvalidRequestError, UnavailableError
from localnet.errors import NodeError
from payouts.batches import transactions
from payouts.batches.instructions import PayoutLine
from payouts.batches.service import Wanted, cancel_batch, close_batches, make_batch
from payouts.batches.transactions import HandedOut, prepare_transaction, send_transaction
from payouts.following.service import follow_movements
from payouts.models import Payout, PayoutBatch, PayoutRequest
from payouts.states import Method, PayoutStatus
from tests.factories import NOON, make_live_chain
from tests.payouts.factories import (
    BUYER,
    approved,
    make_approver,
    make_paid,
    make_payout,
    outflow_for,
    refund_of,
    status_of,
)
from tests.payouts.factories import make_batch as make_open_batch
from tests.waiting import wait_until
from tests.wallets.factories import read_all
from wallets import browser_wallets, selectors
from wallets.chains.registry import open_pool
from wallets.models import ChainCursor, Transfer
from wallets.networks import chain_spec
from wallets.states import TransferState
from wallets.watcher_process import open_watcher

if TYPE_CHECKING:
    from localnet.solana.node import SolanaNode
    from localnet.ton.messages import TonWallet
    from localnet.ton.node import TonNode
    from localnet.tron import TronNode

pytestmark = pytest.mark.django_db

UNITS = 5_000_000
APPROVED, SENDING, PAID = PayoutStatus.APPROVED, PayoutStatus.SENDING, PayoutStatus.PAID


class Till:
    """A merchant whose wallet signs on a chain; each family's own part is below."""

    chain: str
    token: str
    wallet: str

    def __init__(self, merchant: Merchant) -> None:
        self.merchant = merchant
        self.person = make_approver(merchant)
        self.recipient = self.new_address()
        ChainCursor.objects.all().delete()
        make_live_chain(self.chain, height=None, head=None)
        self.read()

    def payout(self, units: int = UNITS, **values: Any) -> Payout:
        """An approved payout."""
        made = make_payout(self.merchant, units, chain=self.chain, token=self.token, address=self.recipient, **values)
        return approved(made, self.person)

    def hand_out(self, *payouts: Payout) -> PayoutBatch:
        """A batch of approved payouts."""
        wanted = Wanted([one.public_id for one in payouts], self.wallet, Method.TRANSACTION)
        return make_batch(self.merchant, Mode.LIVE, wanted, actor=Actor(self.person), now=timezone.now())

    def read(self, when: datetime | None = None) -> None:
        """The chain was read up to a moment."""
        moment = when or timezone.now() + timedelta(hours=1)
        ChainCursor.objects.filter(chain=self.chain).update(
            height=1, head=1, head_at=moment, head_time=moment, read_through_at=moment
        )
        selectors.forget()

    def ask(self, batch: PayoutBatch, payout: Payout, now: datetime | None = None) -> Any:
        """What the wallet is given for a payout."""
        return prepare_transaction(batch, [payout.public_id], now=now or timezone.now()).transaction

    def new_address(self) -> str:
        raise NotImplementedError

    def send(self, batch: PayoutBatch, payout: Payout, written: Any) -> None:
        """Sign what the wallet was given, and send it."""
        raise NotImplementedError

    def received(self) -> int:
        raise NotImplementedError

    def end(self, request: PayoutRequest, *, final: bool) -> datetime:
        """Let the newest block pass the end of what is out, and the final one with `final`; return a time after that."""
        raise NotImplementedError


class SolanaTill(Till):
    chain, token = "solana", "USDC"

    def __init__(self, node: "SolanaNode", merchant: Merchant) -> None:
        self.node, self.wallet = node, str(node.payer.pubkey())
        super().__init__(merchant)
        self.forget()

    def forget(self) -> None:
        """Ask for a new blockhash, as after some seconds; the last test's chain is another one."""
        browser_wallets._cashiers.of(chain_spec("solana"))._blockhashes.clear()  # type: ignore[attr-defined]

    def new_address(self) -> str:
        from solders.keypair import Keypair

        return str(Keypair().pubkey())

    def sign(self, written: str) -> Any:
        from solders.transaction import Transaction, VersionedTransaction

        unsigned = Transaction.from_bytes(base64.b64decode(written))
        return VersionedTransaction(unsigned.message, [self.node.payer])

    def send(self, batch: PayoutBatch, payout: Payout, written: Any) -> None:
        self.node.submit(self.sign(written))
        self.node.advance()

    def received(self) -> int:
        return self.node.balance(self.recipient)

    def end(self, request: PayoutRequest, *, final: bool) -> datetime:
        from payouts.batches.endings import last_height_of

        last = last_height_of(request)
        assert last is not None
        self.node.advance(max(0, last + 1 - self.node.slot("processed")))
        if final:
            self.node.finalize()
        return timezone.now() + timedelta(minutes=10)


class TronTill(Till):
    chain, token = "tron", "USDT"

    def __init__(self, node: "TronNode", merchant: Merchant) -> None:
        self.node, self.wallet = node, node.payer_address
        super().__init__(merchant)

    def new_address(self) -> str:
        from localnet.tron.addresses import to_base58

        return to_base58(self.node.anvil.accounts[7].address)

    def sign(self, written: Any) -> str:
        from eth_keys.datatypes import PrivateKey

        from localnet.tron.addresses import to_base58

        accounts = {to_base58(one.address): one for one in self.node.anvil.accounts}
        key = PrivateKey(bytes.fromhex(accounts[self.wallet].key.removeprefix("0x")))
        tx_id = hashlib.sha256(bytes.fromhex(written["raw_data_hex"])).digest()
        return key.sign_msg_hash(tx_id).to_bytes().hex()

    def send(self, batch: PayoutBatch, payout: Payout, written: Any) -> None:
        send_transaction(batch, payout.public_id, self.sign(written), now=timezone.now())

    def received(self) -> int:
        from localnet.tokens import balance_of
        from localnet.tron import USDT
        from localnet.tron.addresses import to_hex

        return balance_of(self.node.anvil, to_hex(USDT), to_hex(self.recipient))

    def end(self, request: PayoutRequest, *, final: bool) -> datetime:
        assert request.valid_until is not None
        self.node.anvil.set_next_timestamp(int(request.valid_until.timestamp()) + 1)
        self.node.anvil.mine(chain_spec("tron").confirmations if final else 1)
        return request.valid_until + timedelta(minutes=1)


class TonTill(Till):
    chain, token = "ton", "USDT"

    def __init__(self, node: "TonNode", merchant: Merchant) -> None:
        self.node = node
        self.pay_from(node.payer)
        super().__init__(merchant)

    def pay_from(self, payer: "TonWallet") -> None:
        """Choose the paying wallet of the batches from now on."""
        self.payer, self.wallet = payer, payer.address

    def new_address(self) -> str:
        return self.node.create_wallet().address

    def send(self, batch: PayoutBatch, payout: Payout, written: Any) -> None:
        from tests.wallets.tonconnect import carry_out

        carry_out(self.node, written, self.payer)

    def ask_for(self, batch: PayoutBatch, *payouts: Payout, now: datetime | None = None) -> HandedOut:
        """What the wallet is given for several payouts."""
        return prepare_transaction(batch, [one.public_id for one in payouts], now=now or timezone.now())

    @contextmanager
    def watched(self) -> Iterator[Callable[[], None]]:
        """A watcher that begins now; yield what reads and follows what became final since."""
        spec = chain_spec("ton")
        ChainCursor.objects.all().delete()
        with closing(open_watcher(spec, open_pool(spec), owner="one")) as watcher:
            read_all(watcher)

            def look() -> None:
                self.node.advance(10)
                read_all(watcher)
                follow_movements(now=timezone.now())

            yield look

    def received(self) -> int:
        return self.node.balance(self.recipient)

    def end(self, request: PayoutRequest, *, final: bool) -> datetime:
        assert request.valid_until is not None
        if final:
            self.node.elapse(421)
            self.node.advance()
        return request.valid_until + timedelta(minutes=1)


@pytest.fixture
def ton_till(ton_node: "TonNode", merchant: Merchant, settings: Any) -> TonTill:
    """The merchant on TON."""
    settings.MOVEMENT_CONSUMERS = []
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {"TON_RPC_URLS": ton_node.url, "TON_TOKEN_USDT": ton_node.usdt}
    return TonTill(ton_node, merchant)


def test_on_ton_the_message_names_its_payout_and_is_handed_out_once(ton_till: TonTill) -> None:
    first, second = ton_till.payout(), ton_till.payout()
    Payout.objects.update(created_at=timezone.now() - timedelta(days=365))
    batch = ton_till.hand_out(first, second)
    spec = chain_spec("ton")
    ChainCursor.objects.all().delete()
    watcher = open_watcher(spec, open_pool(spec), owner="one")
    read_all(watcher)
    written = ton_till.ask(batch, second)
    # Until then its message may be under way.
    assert out(second).valid_until == datetime.fromtimestamp(written["valid_until"], UTC) + timedelta(minutes=2)
    assert written["valid_until"] - timezone.now().timestamp() <= 300
    with pytest.raises(ConflictError):
        ton_till.ask(batch, second)
    ton_till.send(batch, second, written)
    assert ton_till.received() == UNITS

    def is_paid() -> bool:
        ton_till.node.advance(10)
        read_all(watcher)
        follow_movements(now=timezone.now())
        return status_of(second) == PAID

    wait_until(is_paid)
    watcher.close()
    assert status_of(first) == SENDING


def test_on_ton_the_next_one_waits_for_the_chains_own_clock(ton_till: TonTill) -> None:
    payout = ton_till.payout()
    batch = ton_till.hand_out(payout)
    first = ton_till.ask(batch, payout)
    late = ton_till.end(out(payout), final=False)
    ton_till.read(late)
    with pytest.raises(ConflictError):
        ton_till.ask(batch, payout, now=late)
    # No wallet begins it now, but one may have in the last second.
    ton_till.node.elapse(301)
    ton_till.node.advance()
    with pytest.raises(ConflictError):
        ton_till.ask(batch, payout, now=late)
    ton_till.end(out(payout), final=True)
    assert ton_till.ask(batch, payout, now=late)["valid_until"] > first["valid_until"]


def test_on_ton_a_wallet_that_never_held_the_token_is_told_so(ton_till: TonTill) -> None:
    ton_till.wallet = ton_till.node.create_wallet().address
    payout = ton_till.payout()
    batch = ton_till.hand_out(payout)
    with pytest.raises(ConflictError) as refused:
        ton_till.ask(batch, payout)
    assert refused.value.code == "funds_insufficient"


@pytest.fixture
def solana_till(solana_node: "SolanaNode", merchant: Merchant, settings: Any) -> SolanaTill:
    """The merchant on Solana."""
    settings.MOVEMENT_CONSUMERS = []
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": solana_node.url}
    return SolanaTill(solana_node, merchant)


@pytest.fixture
def tron_till(tron_node: "TronNode", merchant: Merchant, settings: Any) -> TronTill:
    """The merchant on Tron."""
    settings.MOVEMENT_CONSUMERS = []
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {"TRON_RPC_URLS": tron_node.url, "TRON_GRID_URLS": tron_node.grid_url}
    return TronTill(tron_node, merchant)


@pytest.fixture(params=["solana", "tron"])
def till(request: pytest.FixtureRequest) -> Till:
    """The merchant on each of them in turn."""
    found: Till = request.getfixturevalue(f"{request.param}_till")
    return found


def out(payout: Payout) -> PayoutRequest:
    return PayoutRequest.objects.select_related("batch").get(payout=payout)


def end_of(payout: Payout) -> datetime | None:
    """Until when what is out for a payout can be paid; None if nothing is."""
    return out(payout).valid_until


def test_what_the_wallet_signs_pays_the_payout_that_it_names(till: Till) -> None:
    """On Solana of two of the same amount to one recipient, where the order would choose the other one.

    On Tron the hash names it, which the stand-in makes in its own way.
    """
    first, second = till.payout(UNITS + isinstance(till, TronTill)), till.payout()
    Payout.objects.update(created_at=timezone.now() - timedelta(days=365))
    batch = till.hand_out(first, second)
    spec = chain_spec(till.chain)
    ChainCursor.objects.all().delete()
    watcher = open_watcher(spec, open_pool(spec), owner="one")
    read_all(watcher)
    till.send(batch, second, till.ask(batch, second))
    assert till.received() == UNITS

    def is_paid() -> bool:
        till.node.advance(40) if isinstance(till, SolanaTill) else till.node.anvil.mine(20)  # type: ignore[attr-defined]
        read_all(watcher)
        follow_movements(now=timezone.now())
        return status_of(second) == PAID

    wait_until(is_paid)
    watcher.close()
    assert status_of(first) == SENDING
    raw = json.loads(bytes(out(second).raw))["raw"]
    assert out(second).tx_hash == (hashlib.sha256(bytes.fromhex(raw)).hexdigest() if raw else "")


def test_the_next_one_is_written_only_once_the_final_blocks_passed_the_end(till: Till) -> None:
    payout = till.payout()
    batch = till.hand_out(payout)
    first = till.ask(batch, payout)
    late = till.end(out(payout), final=False)
    with pytest.raises(ConflictError) as refused:
        till.ask(batch, payout, now=late)
    assert refused.value.code == "not_ended"
    till.end(out(payout), final=True) if isinstance(till, SolanaTill) else till.node.anvil.mine(20)  # type: ignore[attr-defined]
    # What was paid meanwhile may not have been seen.
    till.read(timezone.now() - timedelta(days=1))
    with pytest.raises(ConflictError):
        till.ask(batch, payout, now=late)
    till.read(late)
    if isinstance(till, SolanaTill):
        till.forget()
    second = till.ask(batch, payout, now=late)
    assert second != first
    # The first is worth nothing any more, to whoever has it.
    if isinstance(till, SolanaTill):
        with pytest.raises(NodeError):
            till.node.submit(till.sign(first))
    else:
        with pytest.raises(InvalidRequestError):
            till.send(batch, payout, first)
    assert till.received() == 0


def test_while_it_may_be_paid_a_wallet_that_may_change_it_gets_none(solana_till: SolanaTill) -> None:
    payout = solana_till.payout()
    batch = solana_till.hand_out(payout)
    first = solana_till.ask(batch, payout)
    with pytest.raises(ConflictError):
        solana_till.ask(batch, payout)
    solana_till.send(batch, payout, first)
    with pytest.raises(ConflictError):
        solana_till.ask(batch, payout)
    assert solana_till.received() == UNITS


def test_without_the_wait_that_would_pay_twice(solana_till: SolanaTill, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "have_ended", lambda *_: True)
    payout = solana_till.payout()
    batch = solana_till.hand_out(payout)
    first = solana_till.ask(batch, payout)
    solana_till.node.advance(2)
    solana_till.forget()
    second = solana_till.ask(batch, payout)
    solana_till.send(batch, payout, first)
    solana_till.send(batch, payout, second)
    assert solana_till.received() == 2 * UNITS


def test_what_was_recorded_and_not_followed_yet_is_not_handed_out_again(
    merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Watchers read on while no worker runs, and what was handed out before has ended."""
    monkeypatch.setattr(transactions, "have_ended", lambda *_: True)
    monkeypatch.setattr(transactions, "prepare_payments", lambda *_, **__: pytest.fail("It is handed out once more."))
    payout, batch = approved(make_payout(merchant)), make_open_batch(merchant)
    PayoutBatch.objects.filter(pk=batch.pk).update(method=Method.TRANSACTION)
    Payout.objects.filter(pk=payout.pk).update(status=SENDING, batch=batch)
    raw = PayoutLine(payout.public_id, payout.address, int(payout.units)).raw()
    PayoutRequest.objects.create(payout=payout, batch=batch, raw=raw, valid_until=NOON)
    outflow_for(payout, queued_at=NOON)
    with pytest.raises(ConflictError) as refused:
        prepare_transaction(batch, [payout.public_id], now=timezone.now())
    assert refused.value.code == "not_ended"


def test_a_refund_whose_payment_was_reversed_or_is_in_doubt_since_is_not_handed_out(
    merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "have_ended", lambda *_: True)
    monkeypatch.setattr(transactions, "prepare_payments", lambda *_, **__: pytest.fail("It is handed out."))
    payout = approved(refund_of(make_paid(merchant), UNITS, address=BUYER).payout)
    batch = make_open_batch(merchant)
    PayoutBatch.objects.update(method=Method.TRANSACTION)
    Payout.objects.update(batch=batch, status=SENDING)
    batch.refresh_from_db()
    PayoutRequest.objects.create(payout=payout, batch=batch, raw=PayoutLine(payout.public_id, BUYER, UNITS).raw())
    Transfer.objects.update(state=TransferState.ORPHANED)
    with pytest.raises(ConflictError, match="took back"):
        prepare_transaction(batch, [payout.public_id], now=NOON)
    Transfer.objects.update(state=TransferState.CONFIRMED)
    make_live_chain("base", halted_reason="a deep fork", doubted_above=0)
    with pytest.raises(ConflictError, match="may be lost"):
        prepare_transaction(batch, [payout.public_id], now=NOON)


def test_our_own_bytes_are_neither_given_again_nor_sent_once_the_payment_that_they_return_is_gone(
    merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "have_ended", lambda *_: False)
    payout = approved(refund_of(make_paid(merchant), UNITS, address=BUYER).payout)
    batch = make_open_batch(merchant)
    PayoutBatch.objects.update(method=Method.TRANSACTION)
    Payout.objects.update(batch=batch, status=SENDING)
    batch.refresh_from_db()
    stored = json.loads(PayoutLine(payout.public_id, BUYER, UNITS).raw()) | {"transaction": {"txID": "1"}, "raw": "00"}
    PayoutRequest.objects.create(
        payout=payout, batch=batch, raw=json.dumps(stored).encode(), valid_until=NOON + timedelta(minutes=1)
    )
    assert prepare_transaction(batch, [payout.public_id], now=NOON).transaction == {"txID": "1"}
    Transfer.objects.update(state=TransferState.ORPHANED)
    with pytest.raises(ConflictError, match="took back"):
        prepare_transaction(batch, [payout.public_id], now=NOON)
    with pytest.raises(ConflictError, match="took back"):
        send_transaction(batch, payout.public_id, "11" * 65, now=NOON)


def test_our_own_bytes_are_handed_out_again_and_paid_once(tron_till: TronTill) -> None:
    payout = tron_till.payout()
    batch = tron_till.hand_out(payout)
    first = tron_till.ask(batch, payout)
    assert tron_till.ask(batch, payout) == first
    tron_till.send(batch, payout, first)
    tron_till.send(batch, payout, first)
    assert tron_till.received() == UNITS
    assert out(payout).tx_hash == first["txID"]


def test_only_the_paying_wallets_signature_of_what_is_out_is_sent(tron_till: TronTill) -> None:
    payout, other = tron_till.payout(), tron_till.payout()
    batch = tron_till.hand_out(payout, other)
    now = timezone.now()
    with pytest.raises(ConflictError):
        send_transaction(batch, payout.public_id, "11" * 65, now=now)
    written, elses = tron_till.ask(batch, payout), tron_till.ask(batch, other)
    for signature in ("", "11" * 65, tron_till.sign(elses), tron_till.sign(written)[:-2]):
        with pytest.raises(InvalidRequestError):
            send_transaction(batch, payout.public_id, signature, now=now)
    with pytest.raises(ConflictError):
        send_transaction(batch, payout.public_id, tron_till.sign(written), now=now + timedelta(minutes=10))
    assert tron_till.received() == 0


def test_of_two_windows_that_ask_at_once_one_is_handed_a_transaction(
    till: Till, monkeypatch: pytest.MonkeyPatch
) -> None:
    payout = till.payout()
    batch = till.hand_out(payout)
    prepare: Callable[..., Any] = browser_wallets.prepare_payments
    handed = []

    def both(*args: Any, **options: Any) -> Any:
        monkeypatch.setattr(transactions, "prepare_payments", prepare)
        handed.append(till.ask(batch, payout))
        return prepare(*args, **options)

    monkeypatch.setattr(transactions, "prepare_payments", both)
    with pytest.raises(ConflictError):
        till.ask(batch, payout)
    assert len(handed) == 1


def test_a_cancelled_batch_is_free_after_the_end_of_what_is_out_and_hands_out_nothing(till: Till) -> None:
    payout, never_asked = till.payout(), till.payout(UNITS + 1)
    batch = till.hand_out(payout, never_asked)
    till.ask(batch, payout)
    batch = cancel_batch(batch, actor=Actor(till.person), now=timezone.now())
    assert batch.cooling_until == out(payout).valid_until
    with pytest.raises(ConflictError):
        till.ask(batch, never_asked)
    late = till.end(out(payout), final=False)
    till.read(late)
    assert close_batches(now=late) == 0
    till.end(out(payout), final=True) if isinstance(till, SolanaTill) else till.node.anvil.mine(20)  # type: ignore[attr-defined]
    assert close_batches(now=late) == 1
    assert [status_of(one) for one in (payout, never_asked)] == [APPROVED] * 2


def test_elsewhere_a_request_pays_one(till: Till) -> None:
    payouts = [till.payout(UNITS + n) for n in range(2)]
    batch = till.hand_out(*payouts)
    with pytest.raises(InvalidRequestError):
        prepare_transaction(batch, [one.public_id for one in payouts], now=timezone.now())
    assert [end_of(one) for one in payouts] == [None, None]


def test_what_was_never_handed_out_is_free_at_once(till: Till) -> None:
    payout = till.payout()
    batch = cancel_batch(till.hand_out(payout), actor=Actor(till.person), now=timezone.now())
    assert close_batches(now=batch.cooling_until or timezone.now()) == 1
    assert status_of(payout) == APPROVED


def test_a_wallet_with_too_little_is_told_so_and_nothing_is_out(till: Till) -> None:
    payout = till.payout(10**15)
    batch = till.hand_out(payout)
    with pytest.raises(ConflictError) as refused:
        till.ask(batch, payout)
    assert refused.value.code == "funds_insufficient"
    assert out(payout).valid_until is None


def test_where_no_node_answers_nothing_is_out(till: Till, settings: Any) -> None:
    payout = till.payout()
    batch = till.hand_out(payout)
    settings.CHAIN_SETTINGS = dict.fromkeys(settings.CHAIN_SETTINGS, "http://127.0.0.1:9")
    with pytest.raises(UnavailableError):
        till.ask(batch, payout)
    assert out(payout).valid_until is None
