"""A buyer who signs for two chains at once: what both ledgers would send for one checkout is sent by one of them."""

from collections.abc import Callable, Iterator
from functools import partial
from threading import Barrier

import pytest
from django.db import connection
from django.utils import timezone

from accounts.models import Merchant
from localnet.anvil import Anvil
from settlements.gas import claims, solana_relay
from settlements.gas.claims import TakenSubjectError
from settlements.gas.relay import Relay
from settlements.gas.solana_relay import Sponsored
from settlements.models import GasTransaction, RelayClaim, SponsoredTransaction
from tests.concurrency.races import SECONDS, behind
from tests.factories import make_merchant
from tests.settlements.gas.relays import send, signed_transfer
from wallets.chains.evm.authorizations.terms import TransferAuthorization
from wallets.chains.solana.unsigned_payment import SPONSORED_FEE
from wallets.networks import chain_spec

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.concurrency]

UNITS = 10_000
SHOP = "0x" + "41" * 20
SUBJECT = "chk_live_1"
NO_NEW_CLAIMS = "LOCK TABLE settlements_relayclaim IN SHARE MODE"


def cause(merchant: Merchant) -> Relay:
    """Both ledgers name the first try of a checkout alike."""
    return Relay(merchant.pk, f"{SUBJECT}:1", is_alone=True, subject=SUBJECT)


def on_base(signed: TransferAuthorization, merchant: Merchant) -> bool:
    """Send it by the gas account; whether it was."""
    try:
        send(signed, cause(merchant))
    except TakenSubjectError:
        return False
    return True


def stored(merchant: Merchant) -> SponsoredTransaction:
    """Store it as the fee payer does once both signatures are there."""
    what = Sponsored(chain_spec("solana"), b"", "payer", SPONSORED_FEE, 10)
    signed = solana_relay._Signed(b"signed", "hash", "ours")
    return solana_relay._store(what, signed, cause(merchant), timezone.now())


def on_solana(merchant: Merchant) -> bool:
    """Store it; whether it was."""
    try:
        stored(merchant)
    except TakenSubjectError:
        return False
    return True


def both(node: Anvil) -> list[Callable[[], bool]]:
    merchant = make_merchant()
    return [partial(on_base, signed_transfer(node, SHOP, UNITS), merchant), partial(on_solana, merchant)]


def sent() -> int:
    return GasTransaction.objects.count() + SponsoredTransaction.objects.count()


@pytest.fixture
def unconstrained() -> Iterator[None]:
    """Let several transactions claim one subject until the test ends."""
    by_name = {c.name: c for c in RelayClaim._meta.constraints}
    constraint = by_name["relay_claim_of_one_transaction"]
    with connection.schema_editor() as editor:
        editor.remove_constraint(RelayClaim, constraint)
    yield
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE settlements_relayclaim")
    with connection.schema_editor() as editor:
        editor.add_constraint(RelayClaim, constraint)


@pytest.mark.parametrize("is_turned", [False, True], ids=["base first", "solana first"])
@pytest.mark.usefixtures("usdc")
def test_of_two_chains_at_once_one_pays_a_checkout(base_node: Anvil, is_turned: bool) -> None:
    works = both(base_node)
    came = behind(NO_NEW_CLAIMS, works=works[::-1] if is_turned else works)
    assert sorted(came) == [False, True]
    assert sent() == 1
    assert RelayClaim.objects.count() == 1


@pytest.mark.usefixtures("usdc", "unconstrained")
def test_without_the_constraint_both_chains_would_pay(base_node: Anvil, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control of the test above."""
    gathered = Barrier(2)
    look = claims._refuse_taken

    def look_together(*claim: object, **moment: object) -> None:
        gathered.wait(SECONDS)
        look(*claim, **moment)  # type: ignore[arg-type]

    # Each looks at the claim that it wrote, before either is done.
    monkeypatch.setattr(claims, "_refuse_taken", look_together)
    assert behind(NO_NEW_CLAIMS, works=both(base_node)) == [True, True]
    assert sent() == 2


def test_one_request_that_comes_twice_at_once_is_one_transaction() -> None:
    merchant = make_merchant()
    first, second = behind(NO_NEW_CLAIMS, works=[partial(stored, merchant)] * 2)
    assert first.pk == second.pk
    assert sent() == 1


def test_without_the_lock_of_a_payer_the_second_one_would_be_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control of the test above."""
    merchant = make_merchant()
    monkeypatch.setattr(solana_relay, "lock_payer", lambda *_: None)
    with pytest.raises(TakenSubjectError):
        behind(NO_NEW_CLAIMS, works=[partial(stored, merchant)] * 2)
