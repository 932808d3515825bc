"""Payouts by EIP-3009 on a local Base with a token that behaves like USDC: the wallet signs, our gas account sends, once."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import UTC, timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.audit.actors import Actor
from accounts.models import Merchant
from accounts.states import Mode
from gateway.core.api.errors import ConflictError, InvalidRequestError
from localnet.anvil import Anvil
from localnet.errors import NodeError
from localnet.tokens import execute
from payouts.batches import authorizations, relays
from payouts.batches.authorizations import authorization_of, domain_of, nonce_of, take_signature
from payouts.batches.relays import send_signed
from payouts.batches.service import cancel_batch, close_batches
from payouts.following.service import follow_movements
from payouts.models import Payout, PayoutBatch, PayoutRequest
from payouts.states import BatchStatus, PayoutException, PayoutStatus, Trouble
from settlements.gas.node import gas_node
from settlements.gas.upkeep import tend
from settlements.models import GasAccount, GasTransaction
from settlements.states import Purpose, TransactionState
from tests.factories import make_live_chain
from tests.payouts.factories import BUYER, OTHER_BUYER, approved, make_paid, make_payout, refund_of, status_of
from tests.payouts.signing import CHANGES, UNITS, Desk, following_base, forgotten, open_desk, read_until
from tests.wallets.factories import read_all
from wallets.chains.registry import open_pool
from wallets.models import ChainCursor, Transfer
from wallets.networks import chain_spec
from wallets.states import TransferState
from wallets.watcher_process import open_watcher
from wallets.watchers.ingest import resume

pytestmark = pytest.mark.django_db

APPROVED, SENDING, PAID = PayoutStatus.APPROVED, PayoutStatus.SENDING, PayoutStatus.PAID


@pytest.fixture
def desk(base_node: Anvil, usdc: str, merchant: Merchant, settings: Any) -> Desk:
    """The merchant's."""
    return open_desk(base_node, usdc, merchant, settings)


def tend_gas(after: timedelta = timedelta()) -> None:
    """Let everybody look at the gas account's transactions once, so much later."""
    with gas_node("base") as node:
        tend("base", node=node, now=timezone.now() + after)


@pytest.fixture
def follow(desk: Desk) -> Iterator[Callable[[], None]]:
    """Reads Base to its head, and follows what was read."""
    del desk
    yield from following_base()


def test_what_the_wallet_signs_is_sent_by_the_gas_account_and_paid_by_the_chain(desk: Desk) -> None:
    payout, other = desk.payout(), desk.payout(address=OTHER_BUYER)
    batch = desk.hand_out(payout, other)
    assert batch.valid_until is not None
    spec = chain_spec("base")
    watcher = open_watcher(spec, open_pool(spec), owner="one")
    read_all(watcher)
    desk.sign(batch, payout)
    assert send_signed(now=timezone.now()) == 1
    assert (desk.received(), desk.received(OTHER_BUYER)) == (UNITS, 0)
    made = GasTransaction.objects.get()
    assert (made.purpose, made.expires_at) == (Purpose.RELAY, batch.valid_until)
    # Sent once, however often it is looked at.
    assert send_signed(now=timezone.now()) == 0
    desk.node.mine(spec.confirmations)
    read_all(watcher)
    watcher.close()
    follow_movements(now=timezone.now())
    assert (status_of(payout), status_of(other)) == (PAID, SENDING)
    payout.refresh_from_db()
    assert payout.movement is not None
    assert payout.movement.tx_hash == PayoutRequest.objects.get(payout=payout).tx_hash
    tend_gas()
    made.refresh_from_db()
    assert (made.state, made.succeeded) == (TransactionState.MINED, True)


def test_a_refund_whose_payment_was_reversed_since_it_was_signed_is_not_sent_until_that_is_back(desk: Desk) -> None:
    payout = approved(refund_of(make_paid(desk.merchant), UNITS, address=BUYER).payout, desk.person)
    desk.sign(desk.hand_out(payout), payout)
    Transfer.objects.update(state=TransferState.ORPHANED)
    assert (send_signed(now=timezone.now()), desk.received()) == (0, 0)
    Transfer.objects.update(state=TransferState.CONFIRMED)
    assert (send_signed(now=timezone.now()), desk.received()) == (1, UNITS)


def test_what_was_signed_waits_while_the_payment_that_it_returns_is_in_doubt(desk: Desk) -> None:
    payout = approved(refund_of(make_paid(desk.merchant), UNITS, address=BUYER).payout, desk.person)
    desk.sign(desk.hand_out(payout), payout)
    make_live_chain("base", halted_reason="a deep fork", doubted_above=0)
    assert (send_signed(now=timezone.now()), desk.received()) == (0, 0)
    make_live_chain("base", halted_reason="", doubted_above=None)
    assert (send_signed(now=timezone.now()), desk.received()) == (1, UNITS)


def test_no_signature_is_taken_for_a_refund_whose_payment_is_gone_or_in_doubt(desk: Desk) -> None:
    payout = approved(refund_of(make_paid(desk.merchant), UNITS, address=BUYER).payout, desk.person)
    batch = desk.hand_out(payout)
    Transfer.objects.update(state=TransferState.ORPHANED)
    with pytest.raises(ConflictError, match="any more"):
        desk.sign(batch, payout)
    Transfer.objects.update(state=TransferState.CONFIRMED)
    make_live_chain("base", halted_reason="a deep fork", doubted_above=0)
    with pytest.raises(ConflictError, match="any more"):
        desk.sign(batch, payout)
    make_live_chain("base", halted_reason="", doubted_above=None)
    assert desk.sign(batch, payout).signature is not None


def pay_twice(desk: Desk) -> Trouble:
    """Pay for a reference, forget it, pay for it again in our way and past us; return what we say of the second time."""
    first = desk.payout(reference="rma-17")
    desk.pay(first)
    assert desk.received() == UNITS
    second = forgotten(desk, first)
    request = desk.pay(second)
    call = authorization_of(request).call()
    if desk.received(OTHER_BUYER) == 0:
        desk.node.send(desk.node.accounts[5], to=call.to, data=call.data, gas=300_000)
    return Trouble(request.trouble)


def test_a_nonce_pays_a_payout_once(desk: Desk) -> None:
    trouble = pay_twice(desk)
    assert (desk.received(), desk.received(OTHER_BUYER)) == (UNITS, 0)
    assert trouble == Trouble.USED
    # The token's own words, to whoever sends it.
    request = PayoutRequest.objects.latest("pk")
    call = authorization_of(request).call()
    with pytest.raises(NodeError, match="authorization is used"):
        desk.node.rpc("eth_call", {"to": call.to, "data": "0x" + call.data.hex()}, "latest")


def test_without_the_payouts_nonce_it_would_be_paid_twice(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    random: dict[int, bytes] = {}
    monkeypatch.setattr(
        authorizations, "nonce_of", lambda payout: random.setdefault(payout.pk, secrets.token_bytes(32))
    )
    assert pay_twice(desk) == Trouble.NONE
    assert (desk.received(), desk.received(OTHER_BUYER)) == (UNITS, UNITS)


def test_a_nonce_is_of_a_merchant_a_mode_and_what_names_the_payout(merchant: Merchant) -> None:
    named = make_payout(merchant, reference="rma-17")
    unnamed, strange = make_payout(merchant), make_payout(reference="rma-17")
    nonces = [nonce_of(payout) for payout in (named, unnamed, strange)]
    named.mode = Mode.TEST
    assert len({*nonces, nonce_of(named)}) == 4
    named.mode, named.address, named.revision, named.public_id = Mode.LIVE, OTHER_BUYER, 7, "po_live_other"
    assert nonce_of(named) == nonces[0]


def test_the_token_says_how_it_is_signed_for(desk: Desk, settings: Any) -> None:
    spec = chain_spec("base")
    domain = domain_of(spec, "USDC")
    assert domain is not None
    assert (domain.name, domain.version) == ("USD Coin", "2")
    settings.GAS_KEYS = []
    assert domain_of(spec, "USDC") is None
    with pytest.raises(InvalidRequestError, match="cannot be asked"):
        desk.hand_out(desk.payout())


def test_a_token_without_authorisations_takes_none(base_settings: Any) -> None:
    del base_settings
    assert domain_of(chain_spec("base"), "USDC") is None


def test_only_the_paying_wallets_signature_of_this_payout_is_taken(desk: Desk) -> None:
    payout, other = desk.payout(), desk.payout(address=OTHER_BUYER)
    batch = desk.hand_out(payout, other)
    now = timezone.now()
    strange = desk.signature(payout, key=desk.node.accounts[4].key)
    good = desk.signature(payout)
    for signature in (
        strange,
        desk.signature(other),
        "",
        "0x",
        good[:-2],
        good + "00",
        "0x" + "00" * 65,
        good[:-2] + "05",
    ):
        with pytest.raises(InvalidRequestError):
            take_signature(batch, payout.public_id, signature, now=now)
    for payout_id in ("", "po_live_none", desk.payout().public_id):
        with pytest.raises(ConflictError):
            take_signature(batch, payout_id, good, now=now)
    assert not PayoutRequest.objects.exclude(signature=None).exists()
    taken = take_signature(batch, payout.public_id, good, now=now)
    assert bytes(taken.signature or b"").hex() == good[2:]
    # Once more does no harm, and changes nothing.
    take_signature(batch, payout.public_id, strange, now=now)
    assert bytes(PayoutRequest.objects.get(payout=payout).signature or b"").hex() == good[2:]


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_handed_out_is_compared_with_the_payout_as_it_is(desk: Desk, change: dict[str, Any]) -> None:
    payout = desk.payout()
    batch = desk.hand_out(payout)
    Payout.objects.filter(pk=payout.pk).update(**change)
    with pytest.raises(InvalidRequestError):
        desk.sign(batch, payout)


def test_a_cancelled_or_ended_batch_takes_no_signature_and_sends_none(desk: Desk) -> None:
    payout, signed = desk.payout(), desk.payout(address=OTHER_BUYER)
    batch = desk.hand_out(payout, signed)
    assert batch.valid_until is not None
    desk.sign(batch, signed)
    signature = desk.signature(payout)
    with pytest.raises(ConflictError, match="time"):
        take_signature(batch, payout.public_id, signature, now=batch.valid_until)
    assert send_signed(now=batch.valid_until) == 0
    cancel_batch(batch, actor=Actor(desk.person), now=timezone.now())
    with pytest.raises(ConflictError):
        take_signature(batch, payout.public_id, signature, now=timezone.now())
    assert send_signed(now=timezone.now()) == 0
    assert desk.received(OTHER_BUYER) == 0


@pytest.mark.parametrize("is_cancelled", [True, False])
def test_payouts_are_free_once_the_final_head_passed_the_end_and_no_sooner(desk: Desk, is_cancelled: bool) -> None:
    payout = desk.payout()
    batch = desk.hand_out(payout)
    end = batch.valid_until
    assert end is not None
    if is_cancelled:
        batch = cancel_batch(batch, actor=Actor(desk.person), now=timezone.now())
        assert batch.cooling_until == end
    late = end + timedelta(hours=1)
    read_until(late)
    assert close_batches(now=end - timedelta(seconds=1)) == 0
    # The clock is past it, and the chain is not.
    assert close_batches(now=late) == 0
    desk.node.set_next_timestamp(int(end.timestamp()))
    desk.node.mine(chain_spec("base").confirmations - 1)
    # The newest blocks are past it, and the final one is not.
    assert close_batches(now=late) == 0
    desk.node.mine()
    read_until(end - timedelta(seconds=1))
    assert close_batches(now=late) == 0
    read_until(late)
    assert close_batches(now=late) == 1
    batch.refresh_from_db()
    assert (status_of(payout), batch.status) == (APPROVED, BatchStatus.CLOSED)
    # What was signed is worth nothing any more.
    request = PayoutRequest.objects.get(payout=payout)
    call = authorization_of(request).signed_by(bytes.fromhex(desk.signature(payout)[2:])).call()
    with pytest.raises(NodeError, match="authorization is expired"):
        desk.node.rpc("eth_call", {"to": call.to, "data": "0x" + call.data.hex()}, "latest")


def test_without_coin_for_gas_it_waits_and_any_wallet_may_send_it_once(desk: Desk, settings: Any) -> None:
    settings.GAS_KEYS = ["0x" + "5a" * 32]
    payout = desk.payout()
    batch = desk.hand_out(payout)
    desk.sign(batch, payout)
    assert send_signed(now=timezone.now()) == 0
    request = PayoutRequest.objects.get()
    assert (request.trouble, request.gas_transaction) == (Trouble.GAS, None)
    assert not GasTransaction.objects.exists()
    account = GasAccount.objects.get()
    desk.node.rpc("anvil_setBalance", account.address, hex(10**18))
    # Topped up, it is sent.
    later = timezone.now() + timedelta(minutes=1)
    assert send_signed(now=later) == 1
    request.refresh_from_db()
    assert (request.trouble, desk.received()) == (Trouble.NONE, UNITS)


def test_a_wallet_without_enough_money_waits_for_it(desk: Desk) -> None:
    desk.wallet = desk.node.accounts[5]
    payout = desk.payout()
    desk.pay(payout)
    assert PayoutRequest.objects.get().trouble == Trouble.FUNDS
    execute(desk.node, desk.node.accounts[0], desk.usdc, "mint(address,uint256)", desk.wallet.address, UNITS)
    assert send_signed(now=timezone.now()) == 1
    assert desk.received() == UNITS


def blocked(desk: Desk, address: str) -> tuple[Payout, PayoutBatch]:
    """A payout that was signed before USDC blocked its recipient, or the paying wallet; nothing of it is sent."""
    payout = desk.payout()
    batch = desk.hand_out(payout)
    desk.sign(batch, payout)
    execute(desk.node, desk.node.accounts[0], desk.usdc, "blacklist(address)", address)
    for _ in range(2):
        assert send_signed(now=timezone.now()) == 0
    assert (PayoutRequest.objects.get().trouble, status_of(payout)) == (Trouble.REFUSED, SENDING)
    # The rehearsal said so: no gas is spent.
    assert (GasTransaction.objects.exists(), desk.received()) == (False, 0)
    return payout, batch


@pytest.mark.parametrize("is_payer", [False, True])
def test_what_usdc_blocks_is_not_sent_and_is_once_it_is_free_again(desk: Desk, is_payer: bool) -> None:
    address = desk.wallet.address if is_payer else BUYER
    blocked(desk, address)
    execute(desk.node, desk.node.accounts[0], desk.usdc, "unBlacklist(address)", address)
    assert (send_signed(now=timezone.now()), desk.received()) == (1, UNITS)
    assert PayoutRequest.objects.get().trouble == Trouble.NONE


def test_what_stays_blocked_is_approved_again_after_its_end(desk: Desk) -> None:
    payout, batch = blocked(desk, BUYER)
    assert batch.valid_until is not None
    late = batch.valid_until + timedelta(hours=1)
    desk.node.set_next_timestamp(int(batch.valid_until.timestamp()))
    desk.node.mine(chain_spec("base").confirmations)
    read_until(late)
    assert (send_signed(now=late), close_batches(now=late)) == (0, 1)
    assert (status_of(payout), desk.received(), GasTransaction.objects.exists()) == (APPROVED, 0, False)


def test_after_a_crash_before_the_row_is_written_the_same_transaction_goes_on(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    payout = desk.payout()
    desk.sign(desk.hand_out(payout), payout)
    with monkeypatch.context() as patch:

        def dies(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        patch.setattr(relays, "_note", dies)
        with pytest.raises(KeyboardInterrupt):
            send_signed(now=timezone.now())
    assert desk.received() == 0
    # The lease of the dead process ends.
    monkeypatch.setattr(relays, "alone", lambda name: nullcontext(enter_result=True))
    send_signed(now=timezone.now())
    tend_gas()
    assert (GasTransaction.objects.count(), desk.received()) == (1, UNITS)
    assert PayoutRequest.objects.get().gas_transaction is not None


def test_what_was_reverted_is_tried_once_more_and_not_again(desk: Desk) -> None:
    payout = desk.payout()
    batch = desk.hand_out(payout)
    desk.sign(batch, payout)
    request = PayoutRequest.objects.get()
    for count in (1, 2):
        snapshot = desk.node.snapshot()
        assert send_signed(now=timezone.now()) == 1
        assert GasTransaction.objects.count() == count
        # As if the wallet had spent first.
        GasTransaction.objects.update(state=TransactionState.MINED, succeeded=False)
        desk.node.revert(snapshot)
        desk.node.mine()
    assert send_signed(now=timezone.now()) == 0
    assert {one.reference for one in GasTransaction.objects.all()} == {str(request.pk), f"{request.pk}/again"}


def test_one_merchants_payouts_take_a_part_of_the_days_gas(desk: Desk, settings: Any) -> None:
    payout, other = desk.payout(), desk.payout(address=OTHER_BUYER)
    batch = desk.hand_out(payout, other)
    desk.sign(batch, payout)
    assert send_signed(now=timezone.now()) == 1
    spent = GasTransaction.objects.get().most_wei
    settings.GAS_DAILY_COINS = {"base": str(spent * 3 / 10**18)}
    desk.sign(batch, other)
    assert send_signed(now=timezone.now()) == 0
    assert PayoutRequest.objects.get(payout=other).trouble == Trouble.GAS
    assert (desk.received(), desk.received(OTHER_BUYER)) == (UNITS, 0)


def test_what_is_signed_is_all_that_the_wallet_shows(desk: Desk) -> None:
    payout = desk.payout(reference="rma-17")
    batch = desk.hand_out(payout)
    assert batch.valid_until is not None
    typed = authorization_of(PayoutRequest.objects.get()).typed()
    assert typed["message"] == {
        "from": desk.wallet.address,
        "to": BUYER,
        "value": str(UNITS),
        "validAfter": "0",
        "validBefore": str(int(batch.valid_until.timestamp())),
        "nonce": "0x" + nonce_of(payout).hex(),
    }
    assert typed["domain"] == {"name": "USD Coin", "version": "2", "chainId": 8453, "verifyingContract": desk.usdc}
    assert batch.valid_until.replace(tzinfo=UTC) - batch.created_at <= timedelta(hours=24)


def sent(desk: Desk, payout: Payout, follow: Callable[[], None]) -> int:
    """Pay a payout, up to an outflow that is seen and not final; return the height of the block before."""
    batch = desk.hand_out(payout)
    follow()
    before = desk.node.block_number()
    desk.sign(batch, payout)
    assert (send_signed(now=timezone.now()), desk.received()) == (1, UNITS)
    follow()
    payout.refresh_from_db()
    assert (payout.status, payout.movement is None) == (SENDING, False)
    return before


def fork(desk: Desk, before: int) -> None:
    """Replace the blocks above a height by others without their transactions, and put some on top."""
    desk.node.reorg(desk.node.block_number() - before)
    desk.node.mine(3)
    assert desk.received() == 0


def test_what_a_reorg_takes_back_before_it_is_final_is_sent_again_by_the_ledger_and_paid_once(
    desk: Desk, follow: Callable[[], None]
) -> None:
    payout = desk.payout()
    before = sent(desk, payout, follow)
    # The ledger saw it in the block that is gone.
    tend_gas()
    fork(desk, before)
    follow()
    payout.refresh_from_db()
    assert (payout.status, payout.movement, payout.exception) == (SENDING, None, "")
    # It is not signed for again, nor sent beside what the ledger has.
    assert send_signed(now=timezone.now()) == 0
    tend_gas(after=timedelta(minutes=2))
    desk.node.mine()
    assert (desk.received(), GasTransaction.objects.count()) == (UNITS, 1)
    follow()
    desk.node.mine(chain_spec("base").confirmations)
    follow()
    payout.refresh_from_db()
    assert (payout.status, payout.exception) == (PAID, "")
    tend_gas(after=timedelta(minutes=2))
    made = GasTransaction.objects.get()
    assert (made.state, made.succeeded) == (TransactionState.MINED, True)
    assert payout.movement is not None
    assert payout.movement.tx_hash == made.tx_hash
    assert (send_signed(now=timezone.now()), desk.received()) == (0, UNITS)


def test_what_a_reorg_takes_back_after_it_was_final_is_reversed_and_not_sent_again_by_itself(
    desk: Desk, follow: Callable[[], None]
) -> None:
    payout = desk.payout()
    before = sent(desk, payout, follow)
    desk.node.mine(chain_spec("base").confirmations + 2)
    follow()
    tend_gas()
    assert (status_of(payout), GasTransaction.objects.get().state) == (PAID, TransactionState.MINED)
    fork(desk, before)
    # Deeper than what is final: the chain is halted until a person has decided.
    follow()
    assert ChainCursor.objects.get(chain="base").halted_reason
    resume("base", height=before, now=timezone.now())
    follow()
    payout.refresh_from_db()
    assert (payout.status, payout.exception) == (PAID, PayoutException.REVERSED)
    for minutes in (0, 2, 60):
        later = timedelta(minutes=minutes)
        assert send_signed(now=timezone.now() + later) == 0
        tend_gas(after=later)
        close_batches(now=timezone.now() + later)
        desk.node.mine()
        follow()
    payout.refresh_from_db()
    assert (payout.status, payout.exception) == (PAID, PayoutException.REVERSED)
    assert (desk.received(), GasTransaction.objects.count()) == (0, 1)
