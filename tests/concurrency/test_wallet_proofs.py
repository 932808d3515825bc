"""Merchants who prove one wallet at the same moment."""

from collections.abc import Callable, Iterator
from functools import partial

import pytest
from django.db import connection

from accounts.audit.actors import Actor
from accounts.models import Merchant
from gateway.core.api.errors import ConflictError
from tests.concurrency.races import behind, together
from tests.dashboard.people import make_member
from tests.factories import NOON, make_merchant, make_wallet
from tests.wallets.signing import Signer
from wallets.models import ReceivingWallet, WalletChange, WalletProof
from wallets.receiving.changes import apply_wallet_changes, request_wallet
from wallets.receiving.claims import RELEASE_AFTER, claims_to_release, release_claim
from wallets.receiving.proofs import message_of, prove_wallet, start_proof

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

SIGNER = Signer("ethereum")
NO_NEW_CHANGES = "LOCK TABLE wallets_walletchange IN SHARE MODE"
LATER = NOON + RELEASE_AFTER


def started(merchant: Merchant | None = None) -> WalletProof:
    """A message for a merchant to sign."""
    merchant = merchant or make_merchant()
    return start_proof(merchant, chain="ethereum", address=SIGNER.address, actor=Actor(make_member(merchant)), now=NOON)


def prove(proof: WalletProof, signature: str) -> str:
    """Hand a signature in; what came of it."""
    try:
        answer = prove_wallet(proof, signature=signature, actor=Actor(proof.requested_by), now=NOON)
    except ConflictError as error:
        return error.message
    return "waits" if isinstance(answer, WalletChange) else "set"


def proving(proof: WalletProof) -> Callable[[], str]:
    """What hands a signature in that is made beforehand."""
    return partial(prove, proof, SIGNER.sign(message_of(proof)))


@pytest.fixture
def squatter() -> Merchant:
    """A merchant that only claims the address."""
    squatter = make_merchant("Squatter Ltd")
    make_wallet(squatter, "ethereum", SIGNER.address)
    return squatter


@pytest.fixture
def unconstrained() -> Iterator[None]:
    """Let several merchants be next to have one address until the test ends."""
    by_name = {c.name: c for c in WalletChange._meta.constraints}
    constraint = by_name["proven_wallet_awaited_by_one"]
    with connection.schema_editor() as editor:
        editor.remove_constraint(WalletChange, constraint)
    yield
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE wallets_walletchange")
    with connection.schema_editor() as editor:
        editor.add_constraint(WalletChange, constraint)


def two_prove() -> list[str]:
    """Two merchants prove the squatter's address, and both have looked before either writes; what came of it."""
    works = [proving(started()) for _ in range(2)]
    return sorted(behind(NO_NEW_CHANGES, works=works))


def open_changes() -> int:
    return WalletChange.objects.filter(WalletChange.OPEN).count()


def test_of_two_who_prove_a_wallet_at_once_one_is_next_to_have_it(squatter: Merchant) -> None:
    told, first = two_prove()
    assert first == "waits"
    assert "Another proof of this wallet" in told
    assert open_changes() == 1
    # Nothing of the refused attempt stays: the same signature is taken again, and is the latest then.
    refused = WalletProof.objects.get(used_at=None)
    assert proving(refused)() == "waits"
    assert open_changes() == 1


@pytest.mark.usefixtures("squatter", "unconstrained")
def test_without_the_constraint_two_are_next_to_have_it() -> None:
    """The negative control of the test above."""
    assert two_prove() == ["waits", "waits"]
    assert open_changes() == 2


def test_a_signature_that_is_sent_twice_at_once_proves_once(squatter: Merchant) -> None:
    work = proving(started())
    came = together(*[work] * 4)
    assert came.count("waits") == 1
    assert sum("used or has expired" in each for each in came) == 3
    assert open_changes() == 1


def claim(merchant: Merchant) -> str:
    """Claim the address without a proof; what came of it."""
    try:
        request_wallet(
            merchant, chain="ethereum", address=SIGNER.address, actor=Actor(merchant.memberships.get().user), now=NOON
        )
    except ConflictError as error:
        return str(error.code)
    return "set"


def hand_over() -> None:
    """What the sweeps do, as two workers run them."""
    for old in claims_to_release(now=LATER):
        release_claim(old, now=LATER)
    apply_wallet_changes(now=LATER)


def test_however_they_prove_claim_and_hand_over_one_has_it_at_the_end(squatter: Merchant) -> None:
    live = ReceivingWallet.objects.filter(chain="ethereum", address=SIGNER.address, retired_at=None)
    for _ in range(4):
        proofs = [proving(started()) for _ in range(3)]
        other = make_merchant()
        make_member(other)
        together(*proofs, partial(claim, other), hand_over, hand_over)
        assert live.count() + open_changes() == 1
        assert open_changes() <= 1
    hand_over()
    assert live.get().proof is not None
