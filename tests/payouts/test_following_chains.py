"""What a wallet pays on a real local node of each chain pays its payout; a reorg takes that back before and after it is final."""

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.utils import timezone

from accounts.states import Mode
from localnet.anvil import Anvil
from payouts.batches.instructions import PayoutLine, order_of
from payouts.following.service import follow_movements
from payouts.models import Payout
from payouts.states import PayoutException, PayoutStatus
from tests.factories import make_merchant
from tests.payouts.factories import approved, make_payout, status_of
from tests.waiting import wait_until
from tests.wallets.contract.evmlabs import EvmLab
from tests.wallets.contract.labs import Lab
from tests.wallets.factories import read_all
from wallets.chains.registry import open_pool
from wallets.models import ChainCursor, WatchedMovement
from wallets.states import Direction, TransferState
from wallets.watched.service import expect_payouts, watch_wallet
from wallets.watcher_process import open_watcher
from wallets.watchers.ingest import resume

if TYPE_CHECKING:
    from localnet.solana.node import SolanaNode
    from localnet.ton.node import TonNode
    from wallets.chains.base import BlockRef

pytestmark = pytest.mark.django_db

UNITS = 5_000_000
SENDING, PAID = PayoutStatus.SENDING, PayoutStatus.PAID


class Street:
    """A merchant whose wallet pays on a chain, the chain's watcher, and a payout that was approved."""

    def __init__(self, lab: Lab, settings: Any) -> None:
        self.lab = lab
        self.spec = lab.spec(lab.url)
        settings.MOVEMENT_CONSUMERS = []
        self.merchant = make_merchant()
        now = timezone.now()
        wallet, _ = watch_wallet(
            self.merchant, mode=Mode.LIVE, chain=self.spec.name, address=lab.payer, now=now - timedelta(hours=1)
        )
        expect_payouts([wallet.pk], until=now + timedelta(hours=1))
        self.watcher = open_watcher(self.spec, open_pool(self.spec), owner="one")
        self.recipient = lab.create_wallet()
        self.follow()
        [token] = [one.symbol for one in self.spec.accepted_tokens][:1]
        self.payout = approved(
            make_payout(self.merchant, UNITS, chain=self.spec.name, token=token, address=self.recipient.address)
        )
        # The chain's blocks may have an older time than the tests' noon.
        Payout.objects.update(created_at=now - timedelta(days=365))

    def send(self) -> "BlockRef":
        """Pay the payout; return the block before."""
        before = self.lab.mark()
        self.lab.pay((self.recipient, UNITS))
        self.follow()
        return before

    def follow(self) -> None:
        """Read the chain to its head, and follow what was read."""
        read_all(self.watcher)
        follow_movements(now=timezone.now())

    def twin(self) -> Payout:
        """Another approved payout of as much to the same recipient: without a name the older one is paid."""
        same = {"chain": self.spec.name, "token": self.payout.token, "address": self.recipient.address}
        younger = approved(make_payout(self.merchant, UNITS, **same))
        Payout.objects.filter(pk=younger.pk).update(created_at=timezone.now() - timedelta(days=1))
        return younger

    def code_of(self, payout: Payout) -> str:
        """What a wallet scans to pay a payout."""
        line = PayoutLine(payout.public_id, payout.address, UNITS)
        return order_of("", self.spec, payout.token, [line]).code(line)

    def is_now(self, status: PayoutStatus, exception: PayoutException = PayoutException.NONE) -> bool:
        """Whether the payout is so, once what the chain has now was followed."""
        self.follow()
        self.payout.refresh_from_db()
        return (self.payout.status, self.payout.exception) == (status, exception)


@pytest.fixture
def street(lab: Lab, settings: Any) -> Iterator[Street]:
    """The merchant on each chain in turn."""
    opened = Street(lab, settings)
    yield opened
    opened.watcher.close()


def test_what_a_wallet_pays_is_found_and_final(street: Street) -> None:
    street.send()
    street.payout.refresh_from_db()
    assert street.payout.status in (SENDING, PAID)
    assert street.payout.movement is not None
    street.lab.wait(40)
    wait_until(lambda: street.is_now(PAID))
    found = WatchedMovement.objects.get(direction=Direction.OUT)
    assert (found.counterparty, found.units) == (street.recipient.address, UNITS)
    # A second send is reported.
    street.lab.pay((street.recipient, UNITS))
    street.lab.wait(40)
    wait_until(lambda: street.is_now(PAID, PayoutException.PAID_TWICE))


def test_a_reorg_takes_it_back_and_another_transaction_pays(street: Street) -> None:
    """Where blocks are final when they are read, that is after it was final."""
    before = street.send()
    street.payout.refresh_from_db()
    was_final = street.payout.status == PAID
    street.lab.fork(before)
    street.lab.wait(1)
    if was_final:
        wait_until(lambda: street.is_now(PAID, PayoutException.REVERSED))
        return
    wait_until(lambda: street.is_now(SENDING) and street.payout.movement is None)
    street.send()
    street.lab.wait(40)
    wait_until(lambda: street.is_now(PAID))


@pytest.fixture
def base_street(base_node: Anvil, settings: Any) -> Iterator[Street]:
    """The merchant on Base."""
    opened = Street(EvmLab("base", base_node), settings)
    yield opened
    opened.watcher.close()


def test_what_was_final_is_reversed_once_a_person_has_decided_about_the_chain(base_street: Street) -> None:
    before = base_street.send()
    base_street.lab.wait(base_street.spec.confirmations + 2)
    wait_until(lambda: base_street.is_now(PAID))
    base_street.lab.fork(before)
    base_street.lab.wait(3)
    # Deeper than what is final: the chain is halted, and nothing is taken back by itself.
    wait_until(lambda: base_street.is_now(PAID) and bool(ChainCursor.objects.get().halted_reason))
    resume("base", height=before.height, now=timezone.now())
    assert base_street.is_now(PAID, PayoutException.REVERSED)
    assert WatchedMovement.objects.get(direction=Direction.OUT).state == TransferState.ORPHANED


def test_several_payouts_in_one_transaction_are_each_paid(street: Street) -> None:
    others = [street.lab.create_wallet() for _ in range(3)]
    payouts = [
        approved(
            make_payout(
                street.merchant, UNITS + number, chain=street.spec.name, token=street.payout.token, address=one.address
            )
        )
        for number, one in enumerate(others)
    ]
    Payout.objects.update(created_at=timezone.now() - timedelta(days=365))
    street.lab.pay((street.recipient, UNITS), *((one, UNITS + number) for number, one in enumerate(others)))
    street.lab.wait(40)
    wait_until(lambda: street.is_now(PAID))
    found = Payout.objects.filter(pk__in=[one.pk for one in payouts], status=PAID)
    assert found.values("movement").distinct().count() == len(others)


def test_on_ton_the_text_says_which_of_two_equal_payouts_is_paid(ton_node: "TonNode", settings: Any) -> None:
    """As wallets write it that scan the payout's code."""
    from localnet.ton.messages import Payment
    from tests.wallets.contract.accountlabs import TonLab

    street = Street(TonLab(ton_node), settings)
    younger = street.twin()
    [text] = parse_qs(urlsplit(street.code_of(younger)).query)["text"]
    ton_node.send([Payment(street.recipient.address, UNITS, comment=text)])
    street.lab.wait(40)
    street.follow()
    street.watcher.close()
    assert (status_of(younger), status_of(street.payout)) == (PAID, PayoutStatus.APPROVED)


def scan(node: "SolanaNode", code: str) -> None:
    """Pay what a code asks for, as a wallet does that knows Solana Pay."""
    asked = urlsplit(code)
    assert asked.scheme == "solana"
    query = parse_qs(asked.query)
    [amount], [token] = query["amount"], query["spl-token"]
    node.pay(asked.path, int(Decimal(amount).scaleb(6)), token=token, references=query["reference"])


def test_on_solana_the_code_that_is_scanned_says_which_of_two_equal_payouts_is_paid(
    solana_node: "SolanaNode", settings: Any
) -> None:
    from tests.wallets.contract.accountlabs import SolanaLab

    street = Street(SolanaLab(solana_node), settings)
    older, younger = street.payout, street.twin()

    def pay(payout: Payout, *paid: Payout) -> None:
        scan(solana_node, street.code_of(payout))
        street.lab.wait(40)

        def are_paid() -> bool:
            street.follow()
            return [status_of(one) for one in paid] == [PAID] * len(paid)

        wait_until(are_paid)

    pay(younger, younger)
    assert status_of(older) == PayoutStatus.APPROVED
    pay(older, younger, older)
    street.watcher.close()
    assert Payout.objects.filter(exception=PayoutException.NONE, movement__isnull=False).count() == 2
    assert solana_node.balance(street.recipient.address) == 2 * UNITS
