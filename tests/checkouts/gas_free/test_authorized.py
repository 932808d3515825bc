"""Buyers without a coin pay on a local Base: they sign, our gas account sends, and the watcher sees a usual transfer."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.merchants.service import IS_GAS_FREE, turn
from checkouts.gas_free.tickets import MOST_TRIES
from checkouts.models import Checkout
from checkouts.reservations import choose_exact_amount
from checkouts.states import CheckoutStatus
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.smart_wallet import deploy_wallet
from localnet.tokens import balance_of, mint
from settlements.gas import relay
from settlements.gas.node import gas_node
from settlements.gas.upkeep import tend
from settlements.models import GasAccount, GasTransaction
from settlements.states import Outcome, Purpose, TransactionState
from tests.checkouts.gas_free.payers import PRICE, Payer, new_payer
from tests.checkouts.page.buyers import ask, error_of
from tests.checkouts.shop import Shop
from tests.x402.exact.shop import connect_evm
from wallets.chains.evm.authorizations import domains
from wallets.networks import chain_spec

pytestmark = pytest.mark.django_db

UNAVAILABLE = ("gas_free_unavailable", None)
PENDING = ("payment_pending", None)


@pytest.fixture
def shop(free_shop: Shop) -> Shop:
    """A shop whose buyers' network fees the operator pays."""
    return free_shop


@pytest.fixture
def buyer(base_node: Anvil, usdc: str) -> Payer:
    """Somebody with the price of a checkout and not one wei."""
    return new_payer(base_node, usdc)


def due_of(checkout: Checkout) -> str:
    return str(checkout.offers["base"]["address"])


def tend_all(*, after: timedelta = timedelta()) -> None:
    with gas_node("base") as node:
        tend("base", node=node, now=timezone.now() + after)


def test_a_buyer_without_a_coin_completes_a_checkout(
    client: Client, shop: Shop, buyer: Payer, base_node: Anvil, usdc: str
) -> None:
    checkout = shop.checkout()
    offer = buyer.offered(client, checkout)
    assert offer.status_code == 200, offer.content
    assert offer["Cache-Control"] == "no-store"
    message = offer.json()["typed_data"]["message"]
    assert (message["from"], message["to"], message["value"]) == (buyer.address, due_of(checkout), str(PRICE))
    assert int(message["validBefore"]) <= checkout.expires_at.timestamp()
    answer = buyer.signed(client, checkout, offer.json())
    assert answer.status_code == 200, answer.content
    made = GasTransaction.objects.get()
    assert answer.json() == {"tx_hash": made.attempts.get().tx_hash}
    assert (made.purpose, made.merchant_id, made.payer) == (Purpose.RELAY, checkout.merchant_id, buyer.address)
    assert balance_of(base_node, usdc, due_of(checkout)) == PRICE
    base_node.mine(chain_spec("base").confirmations)
    shop.watch()
    checkout.refresh_from_db()
    assert checkout.status == CheckoutStatus.COMPLETED


def test_what_was_signed_is_sent_once_however_often_it_is_posted(
    client: Client, shop: Shop, buyer: Payer, base_node: Anvil, usdc: str
) -> None:
    checkout = shop.checkout()
    offer = buyer.offered(client, checkout).json()
    answers = [buyer.signed(client, checkout, offer) for _ in range(2)]
    base_node.mine(chain_spec("base").confirmations)
    shop.watch()
    # The checkout takes no money any more.
    answers.append(buyer.signed(client, checkout, offer))
    assert [answer.status_code for answer in answers] == [200] * 3
    assert len({answer.content for answer in answers}) == 1
    assert GasTransaction.objects.count() == 1
    assert balance_of(base_node, usdc, due_of(checkout)) == PRICE


def test_without_the_setting_nobody_pays_so(client: Client, shop: Shop, buyer: Payer, settings: Any) -> None:
    settings.GAS_FREE = []
    checkout = shop.checkout()
    assert error_of(buyer.offered(client, checkout), 409) == UNAVAILABLE
    assert 'data-free=""' in client.get(f"/c/{checkout.code}/wallets").content.decode()


def test_a_merchant_may_not_want_it(client: Client, shop: Shop, buyer: Payer) -> None:
    checkout = shop.checkout()
    assert 'data-free="1"' in client.get(f"/c/{checkout.code}/wallets").content.decode()
    turn(shop.merchant, IS_GAS_FREE, to=False, now=timezone.now())
    assert error_of(buyer.offered(client, checkout), 409) == UNAVAILABLE


@pytest.mark.parametrize(
    "changed",
    [
        {"GAS_FREE_LEAST_USD": {"base": "25.01"}},
        {"GAS_COIN_USD": {"base": "1000000"}},
        {"GAS_DAILY_COINS": {"base": "0"}},
        {"GAS_MAX_GWEI": {"base": "0"}},
        {"GAS_KEYS": []},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_what_costs_too_much_is_not_offered(
    client: Client, shop: Shop, buyer: Payer, settings: Any, changed: dict[str, Any]
) -> None:
    for name, value in changed.items():
        setattr(settings, name, value)
    assert error_of(buyer.offered(client, shop.checkout()), 409) == UNAVAILABLE


def test_what_became_too_dear_is_not_sent(client: Client, shop: Shop, buyer: Payer, settings: Any) -> None:
    checkout = shop.checkout()
    offer = buyer.offered(client, checkout).json()
    settings.GAS_DAILY_COINS = {"base": "0"}
    assert error_of(buyer.signed(client, checkout, offer), 409) == UNAVAILABLE
    assert not GasTransaction.objects.exists()


def test_a_signature_of_another_key_is_refused_and_costs_nothing(
    client: Client, shop: Shop, buyer: Payer, base_node: Anvil
) -> None:
    checkout = shop.checkout()
    offer = buyer.offered(client, checkout).json()
    thief = Payer(buyer.address, base_node.accounts[8].key)
    assert error_of(thief.signed(client, checkout, offer), 400) == ("signature_invalid", "signature")
    for signature in ("", "0x", "zz" * 65, "00" * 64, 7, None):
        answer = ask(client, checkout, action="signed", ticket=offer["ticket"], signature=signature)
        assert error_of(answer, 400)[1] == "signature"
    assert not GasTransaction.objects.exists()
    assert buyer.signed(client, checkout, offer).status_code == 200


def test_an_account_that_holds_less_is_told_so(client: Client, shop: Shop, base_node: Anvil, usdc: str) -> None:
    poor = new_payer(base_node, usdc, PRICE - 1)
    assert error_of(poor.offered(client, shop.checkout()), 409)[0] == "funds_insufficient"


def test_money_that_is_gone_meanwhile_is_told(client: Client, shop: Shop, base_node: Anvil, usdc: str) -> None:
    buyer, first, second = new_payer(base_node, usdc), shop.checkout(), shop.checkout()
    offer = buyer.offered(client, second).json()
    assert buyer.pay(client, first).status_code == 200
    base_node.mine(chain_spec("base").confirmations)
    tend_all()
    assert error_of(buyer.signed(client, second, offer), 409)[0] == "funds_insufficient"


def test_one_payment_of_a_checkout_is_on_its_way(
    client: Client, shop: Shop, buyer: Payer, base_node: Anvil, usdc: str
) -> None:
    rich = new_payer(base_node, usdc)
    base_node.set_automine(False)
    checkout = shop.checkout()
    offers = [buyer.offered(client, checkout).json() for _ in range(2)]
    assert buyer.signed(client, checkout, offers[0]).status_code == 200
    assert error_of(buyer.offered(client, checkout), 409) == PENDING
    # Two that were offered within a second are one.
    if offers[1]["ticket"] != offers[0]["ticket"]:
        assert error_of(buyer.signed(client, checkout, offers[1]), 409) == PENDING
    assert GasTransaction.objects.count() == 1
    # Another checkout of the same payer waits too: the balance covers one.
    assert error_of(buyer.offered(client, shop.checkout()), 409) == UNAVAILABLE
    base_node.set_automine(True)
    base_node.mine()
    assert rich.pay(client, shop.checkout()).status_code == 200


def test_after_three_that_failed_the_buyer_pays_the_fee(
    client: Client, shop: Shop, buyer: Payer, base_node: Anvil
) -> None:
    checkout = shop.checkout()
    for _ in range(MOST_TRIES):
        snapshot = base_node.snapshot()
        assert buyer.pay(client, checkout).status_code == 200
        long_ago = timezone.now() - timedelta(hours=2)
        GasTransaction.objects.update(
            state=TransactionState.MINED,
            succeeded=False,
            outcome=Outcome.FAILED,
            created_at=long_ago,
            expires_at=long_ago,
        )
        base_node.revert(snapshot)
        base_node.mine()
        GasAccount.objects.update(next_nonce=None)
    assert error_of(buyer.offered(client, checkout), 409) == UNAVAILABLE
    assert GasTransaction.objects.count() == MOST_TRIES


def test_somebody_elses_transaction_pays_the_same_checkout(
    client: Client, shop: Shop, buyer: Payer, base_node: Anvil, usdc: str
) -> None:
    checkout = shop.checkout()
    offer = buyer.offered(client, checkout).json()
    data = buyer.transfer(offer["typed_data"])
    base_node.send(base_node.accounts[5], to=usdc, data=data, gas=300_000)
    assert error_of(buyer.signed(client, checkout, offer), 409) == PENDING
    assert not GasTransaction.objects.exists()
    base_node.mine(chain_spec("base").confirmations)
    shop.watch()
    checkout.refresh_from_db()
    assert checkout.status == CheckoutStatus.COMPLETED


def test_a_wallet_that_is_a_contract_pays(client: Client, shop: Shop, base_node: Anvil, usdc: str) -> None:
    owner = payer(base_node)
    wallet = Payer(deploy_wallet(base_node, owner), owner.key)
    mint(base_node, usdc, wallet.address, PRICE)
    checkout = shop.checkout()
    offer = wallet.offered(client, checkout).json()
    # What it does not vouch for is no reason to refuse the buyer.
    other = Payer(wallet.address, base_node.accounts[8].key)
    assert error_of(other.signed(client, checkout, offer, more="00"), 409) == UNAVAILABLE
    assert not GasTransaction.objects.exists()
    assert wallet.signed(client, checkout, offer, more="00").status_code == 200
    assert balance_of(base_node, usdc, due_of(checkout)) == PRICE


def test_a_ticket_serves_its_own_checkout_and_must_be_ours(client: Client, shop: Shop, buyer: Payer) -> None:
    checkout, other = shop.checkout(), shop.checkout()
    offer = buyer.offered(client, checkout).json()
    assert error_of(buyer.signed(client, other, offer), 400) == ("parameter_invalid", "ticket")
    forged = offer | {"ticket": offer["ticket"][:-1] + ("A" if offer["ticket"][-1] != "A" else "B")}
    assert error_of(buyer.signed(client, checkout, forged), 400) == ("parameter_invalid", "ticket")
    assert not GasTransaction.objects.exists()


def test_nothing_is_sent_once_something_else_is_due(client: Client, shop: Shop, buyer: Payer) -> None:
    checkout = shop.checkout()
    offer = buyer.offered(client, checkout).json()
    Checkout.objects.filter(pk=checkout.pk).update(amount_received="1")
    assert error_of(buyer.signed(client, checkout, offer), 409)[0] == "state_conflict"
    assert not GasTransaction.objects.exists()


@pytest.mark.parametrize("left", [timedelta(seconds=59), timedelta(seconds=3)])
def test_shortly_before_its_end_a_checkout_is_paid_by_the_buyers_own_transaction(
    client: Client, shop: Shop, buyer: Payer, left: timedelta
) -> None:
    checkout = shop.checkout()
    Checkout.objects.filter(pk=checkout.pk).update(expires_at=timezone.now() + left)
    assert error_of(buyer.offered(client, checkout), 409) == UNAVAILABLE


@pytest.mark.parametrize("free", [1, "true", None, []])
def test_what_is_no_yes_or_no_is_refused(client: Client, shop: Shop, buyer: Payer, free: Any) -> None:
    answer = ask(client, shop.checkout(), chain="base", account=buyer.address, free=free)
    assert error_of(answer, 400)[1] == "free"


def test_a_chain_without_such_signatures_is_refused(client: Client, tron_shop: Shop, settings: Any) -> None:
    settings.GAS_FREE = ["tron"]
    answer = ask(client, tron_shop.checkout(), chain="tron", account=tron_shop.address, free=True)
    assert error_of(answer, 400) == ("chain_unsupported", "chain")


@pytest.mark.usefixtures("still_window")
def test_one_client_is_offered_five_a_minute(client: Client, shop: Shop, buyer: Payer) -> None:
    statuses = [buyer.offered(client, shop.checkout()).status_code for _ in range(6)]
    assert statuses == [200] * 5 + [429]


def test_a_token_that_signs_under_another_name_is_left_to_the_buyers_own_transaction(
    client: Client, shop: Shop, buyer: Payer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(domains, "_domains", {})
    monkeypatch.setattr(domains, "separator_of", lambda *_: bytes(32))
    assert error_of(buyer.offered(client, shop.checkout()), 409) == UNAVAILABLE


def test_an_empty_gas_account_leaves_the_buyer_to_the_own_transaction(
    client: Client, shop: Shop, buyer: Payer, base_node: Anvil
) -> None:
    base_node.rpc("anvil_setBalance", base_node.accounts[3].address, "0x1")
    assert error_of(buyer.offered(client, shop.checkout()), 409) == UNAVAILABLE


def test_a_transfer_that_is_never_mined_is_emptied_and_may_be_signed_again(
    client: Client, shop: Shop, buyer: Payer, base_node: Anvil, usdc: str
) -> None:
    base_node.set_automine(False)
    checkout = shop.checkout()
    assert buyer.pay(client, checkout).status_code == 200
    later = timedelta(minutes=11)
    tend_all(after=later)
    assert GasTransaction.objects.get().purpose == Purpose.CANCEL
    base_node.set_automine(True)
    base_node.mine(chain_spec("base").confirmations)
    tend_all(after=later)
    assert balance_of(base_node, usdc, due_of(checkout)) == 0
    assert buyer.pay(client, checkout).status_code == 200
    assert balance_of(base_node, usdc, due_of(checkout)) == PRICE


def test_an_account_whose_code_does_not_know_the_keys_signature_pays_by_its_own_transaction(
    client: Client, shop: Shop, buyer: Payer, base_node: Anvil
) -> None:
    """An account of EIP-7702 has code, so the token asks that and not the key."""
    delegate = deploy_wallet(base_node, payer(base_node))
    base_node.rpc("anvil_setCode", buyer.address, "0xef0100" + delegate[2:])
    checkout = shop.checkout()
    offer = buyer.offered(client, checkout).json()
    assert error_of(buyer.signed(client, checkout, offer), 409) == UNAVAILABLE
    assert not GasTransaction.objects.exists()


@pytest.mark.parametrize("chain", ["polygon", "ethereum"])
def test_a_buyer_without_a_coin_pays_on_other_chains_too(
    client: Client, request: pytest.FixtureRequest, settings: Any, chain: str
) -> None:
    node: Anvil = request.getfixturevalue(f"{chain}_node")
    usdc = connect_evm(settings, node, chain)
    settings.GAS_FREE, settings.GAS_COIN_USD = [chain], {chain: "0.1"}
    domains._domains.clear()
    shop = Shop(chain, node.accounts[7].address)
    checkout = shop.checkout("60.00")
    if checkout.offers[chain]["address"] is None:
        choose_exact_amount(checkout.pk, now=timezone.now())
    buyer = new_payer(node, usdc, 61_000_000, chain=chain)
    assert buyer.pay(client, checkout).status_code == 200
    node.mine(chain_spec(chain).confirmations)
    shop.watch()
    shop.watcher.close()
    checkout.refresh_from_db()
    assert checkout.status == CheckoutStatus.COMPLETED


def test_killed_before_it_was_sent_it_is_sent_by_the_ledger_and_once(
    client: Client, shop: Shop, buyer: Payer, base_node: Anvil, usdc: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = shop.checkout()
    offer = buyer.offered(client, checkout).json()
    with monkeypatch.context() as patch:

        def dies(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        patch.setattr(relay, "send_first", dies)
        with pytest.raises(KeyboardInterrupt):
            buyer.signed(client, checkout, offer)
    assert balance_of(base_node, usdc, due_of(checkout)) == 0
    answer = buyer.signed(client, checkout, offer)
    assert answer.json() == {"tx_hash": GasTransaction.objects.get().attempts.get().tx_hash}
    for _ in range(2):
        tend_all()
    assert balance_of(base_node, usdc, due_of(checkout)) == PRICE
    assert GasTransaction.objects.get().outcome == Outcome.DONE
