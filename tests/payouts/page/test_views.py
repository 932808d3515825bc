"""What the claim page shows and takes in each state."""

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client

from accounts.audit.actors import SYSTEM
from accounts.models import Merchant
from payouts.lifecycle.claims import claim_code
from payouts.lifecycle.service import cancel_payout, conclude_payout, expire_claims
from payouts.models import Payout
from payouts.page.views import CLAIM
from payouts.states import AddressBy, PayoutException, PayoutStatus
from tests.cases import case, undone
from tests.catalogues import LOOKED_AT
from tests.factories import NOON, USDC_ON_BASE, make_wallet
from tests.links.payer import Payer
from tests.payouts.factories import BUYER, OTHER_BUYER, approved, make_paid, make_payout, outflow_for, refund_of
from tests.wallets.signing import Signer
from wallets.chains.evm.family import EVM_FAMILY
from wallets.models import Transfer, WalletProof
from wallets.receiving.proofs import message_of

pytestmark = pytest.mark.usefixtures("db", "still_noon")

BURN = EVM_FAMILY.nobody
MISTYPED = BUYER[:-1] + ("A" if BUYER[-1].islower() else "a")
FORM = 'name="address"'


@pytest.fixture
def claimed(merchant: Merchant) -> Payout:
    """A refund of 5 USDC whose recipient gives an address."""
    values = {"reason": "Two mugs came broken", "metadata": '{"secret":"ledger"}', "reference": "rma-17"}
    return refund_of(make_paid(merchant), 5_000_000, email="ann@example.test", **values).payout


def path_of(payout: Payout) -> str:
    return f"/r/{claim_code(payout)}"


def give(payout: Payout, address: str = BUYER, **filled: str) -> Any:
    return Client().post(path_of(payout), {"address": address, **filled})


def test_the_page_says_what_is_sent_and_asks_where(payer: Payer, claimed: Payout) -> None:
    text = payer.look(path_of(claimed))
    for words in ("5.00", "USDC", "Base", "Halden Roasters", "Two mugs came broken", "Send my address", FORM):
        assert words in text
    assert "Is it an exchange's address?" in text
    assert "secret phrase" in text


def test_it_shows_no_more_than_the_recipient_may_know_and_its_only_script_asks_wallets(claimed: Payout) -> None:
    answer = Client().get(path_of(claimed))
    for words in ("ledger", "rma-17", "ann@", claimed.public_id, "chk_"):
        assert words not in answer.text
    assert answer.text.count("<script") == 1
    assert "/js/claim.js" in answer.text
    # Without a script there is no wallet to be seen.
    assert re.search(r'id="wallets"\s+hidden', answer.text)
    assert 'content="noindex, nofollow"' in answer.text
    assert answer["Cache-Control"] == "no-store"
    policy = answer["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors" in policy
    assert Client().get("/status")["Content-Security-Policy"] == policy


def test_an_address_is_taken_and_can_be_changed_until_it_is_approved(payer: Payer, claimed: Payout) -> None:
    answer = give(claimed, f" {BUYER.lower()} ")
    assert (answer.status_code, answer["Location"]) == (303, path_of(claimed))
    text = payer.look(path_of(claimed))
    for words in ("We have your address", BUYER, "Change my address", FORM):
        assert words in text
    assert give(claimed, OTHER_BUYER).status_code == 303
    claimed.refresh_from_db()
    assert (claimed.status, claimed.address, claimed.revision) == (PayoutStatus.REQUESTED, OTHER_BUYER, 2)
    assert claimed.address_by == AddressBy.CLAIM
    approved(claimed)
    text = payer.look(path_of(claimed))
    assert "Your address is approved" in text
    assert FORM not in text
    assert "<script" not in text
    late = give(claimed, BUYER)
    assert late.status_code == 409
    claimed.refresh_from_db()
    assert claimed.address == OTHER_BUYER


def test_a_paid_one_shows_its_transaction(payer: Payer, claimed: Payout) -> None:
    give(claimed)
    claimed.refresh_from_db()
    movement = outflow_for(approved(claimed))
    conclude_payout(claimed, movement, now=NOON)
    text = payer.look(path_of(claimed))
    for words in ("Your money was sent", BUYER, movement.tx_hash):
        assert words in text
    assert FORM not in text
    Payout.objects.update(exception=PayoutException.REVERSED)
    text = payer.look(path_of(claimed))
    assert "The network reversed this payment" in text
    assert "Your money was sent" not in text


def test_a_paid_one_says_what_was_sent_where_a_person_accepted_another_amount(payer: Payer, claimed: Payout) -> None:
    give(claimed)
    claimed.refresh_from_db()
    less = outflow_for(approved(claimed), 4_980_000)
    conclude_payout(claimed, less, now=NOON, exception=PayoutException.WRONG_AMOUNT)
    text = payer.look(path_of(claimed))
    assert "4.98 USDC" in text
    assert "5.00 USDC" not in text


def test_each_network_to_choose_says_how_wallets_know_it(merchant: Merchant) -> None:
    choices = [("base", "USDC"), ("tron", "USDT"), ("ton", "USDT")]
    payout = refund_of(make_paid(merchant), choices=choices).payout
    text = Client().get(path_of(payout)).text
    assert re.findall(r'data-family="(.*?)"\s+data-chain-id="(.*?)"', text) == [
        ("evm", "0x2105"),
        ("", ""),
        ("ton", "-239"),
    ]


@pytest.mark.parametrize("is_moved", [False, True])
def test_a_link_is_over_at_its_time_even_before_the_payout_is_moved(
    is_moved: bool, payer: Payer, merchant: Merchant
) -> None:
    begun = NOON - timedelta(days=30)
    payout = refund_of(make_paid(merchant), now=begun).payout
    if is_moved:
        assert expire_claims(now=NOON) == 1
    text = payer.look(path_of(payout))
    assert "This link has expired" in text
    assert "Ask Halden Roasters for a new one." in text
    assert FORM not in text
    assert give(payout).status_code == 409
    payout.refresh_from_db()
    assert payout.address == ""


def test_a_cancelled_one_says_so(payer: Payer, claimed: Payout) -> None:
    cancel_payout(claimed, now=NOON, actor=SYSTEM)
    text = payer.look(path_of(claimed))
    assert "This was cancelled" in text
    assert FORM not in text


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (MISTYPED, "That address has a typing error."),
        ("ann@example.test", "That is not an address on Base."),
        ("", "That is not an address on Base."),
        ("0x" + "1" * 400, "That is not an address on Base."),
        (BUYER + "\0", "That is not an address on Base."),
        (USDC_ON_BASE, "That is a token's contract, not a wallet."),
        (BURN, "Nobody can use money at that address."),
        ("0x" + "0" * 40, "Nobody can use money at that address."),
        ("0x" + "0" * 38 + "01", "Nobody can use money at that address."),
    ],
)
def test_an_address_that_loses_the_money_is_refused_in_words(typed: str, words: str, claimed: Payout) -> None:
    answer = give(claimed, typed)
    assert answer.status_code == 422
    assert words in " ".join(answer.text.split())
    assert 'aria-invalid="true"' in answer.text
    claimed.refresh_from_db()
    assert (claimed.status, claimed.address) == (PayoutStatus.OPEN, "")


def test_the_merchants_own_wallet_is_refused_in_words(claimed: Payout, merchant: Merchant) -> None:
    wallet = make_wallet(merchant)
    answer = give(claimed, wallet.address)
    assert answer.status_code == 422
    assert "That address belongs to Halden Roasters or to this site." in " ".join(answer.text.split())


def test_the_recipient_chooses_among_what_is_worth_the_same(payer: Payer, merchant: Merchant) -> None:
    payout = refund_of(make_paid(merchant), choices=[("base", "USDC"), ("polygon", "USDT")]).payout
    text = payer.look(path_of(payout))
    assert "USDC · Base" in text
    assert "USDT · Polygon" in text
    assert give(payout, choice="polygon:USDT").status_code == 303
    payout.refresh_from_db()
    assert (payout.chain, payout.token) == ("polygon", "USDT")
    assert give(payout, choice="tron:USDT").status_code == 422


def test_who_has_no_code_finds_nothing(claimed: Payout) -> None:
    for path in ("/r/" + "0" * 20, "/r/" + "0" * 19, f"/r/{claimed.public_id}", path_of(claimed).upper()):
        assert Client().get(path).status_code == 404
        assert Client().post(path, {"address": BUYER}).status_code == 404


def test_a_payout_with_a_given_address_has_no_claim_page(merchant: Merchant) -> None:
    assert make_payout(merchant).claim_digest is None


@pytest.mark.usefixtures("still_clock")
def test_a_client_posts_ten_times_a_minute_at_most(claimed: Payout) -> None:
    answers = [give(claimed, "x").status_code for _ in range(CLAIM.most + 1)]
    assert answers == [422] * 10 + [429]
    # Its page is still there to be read.
    assert Client().get(path_of(claimed)).status_code == 200


def test_it_speaks_the_readers_language_and_keeps_it(claimed: Payout) -> None:
    for language in LOOKED_AT:
        address = path_of(claimed) + f"?lang={language}"
        with undone(language):
            assert f'lang="{language}"' in Client().get(address).text
            assert Client().post(address, {"address": BUYER})["Location"] == address


def test_wallets_of_ton_read_who_asks_on_a_host_of_checkouts(client: Client, settings: Any) -> None:
    settings.CHECKOUT_HOST = "https://pay.example"
    settings.ALLOWED_HOSTS = ["pay.example", "testserver"]
    told = client.get("/tonconnect-manifest.json", headers={"host": "pay.example"}).json()
    assert told["url"] == "https://pay.example"
    assert told["iconUrl"].startswith("https://pay.example/")
    assert client.get("/tonconnect-manifest.json").json()["url"] == settings.BASE_URL


def test_the_page_names_the_manifest_of_its_own_host(claimed: Payout, settings: Any) -> None:
    settings.CHECKOUT_HOST = "https://pay.example"
    assert 'data-manifest="https://pay.example/tonconnect-manifest.json"' in Client().get(path_of(claimed)).text


def test_wallets_of_ton_read_who_asks_them(client: Client, settings: Any) -> None:
    answer = client.get("/tonconnect-manifest.json")
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    told = answer.json()
    assert told["url"] == settings.BASE_URL
    # The protocol takes no SVG.
    assert told["iconUrl"].endswith(".png")
    assert told["iconUrl"].startswith(settings.BASE_URL)
    assert client.post("/tonconnect-manifest.json").status_code == 405


# A refund that goes only to an address that paid.

PAYER = Signer("base")


@pytest.fixture
def provable(merchant: Merchant) -> Payout:
    """A refund that the payer must prove an address for."""
    checkout = make_paid(merchant)
    Transfer.objects.filter(payment__checkout=checkout).update(sender=PAYER.address.lower())
    return refund_of(checkout, 5_000_000, requires_proof=True).payout


def message_on(text: str) -> str:
    """The message as the page shows it, which is what a wallet signs."""
    found = re.search(r'id="message"[^>]*>(.*?)</p>', text, re.DOTALL)
    assert found
    return unescape(found[1])


def nonce_on(text: str) -> str:
    found = re.search(r'name="nonce" value="(.*?)"', text)
    assert found
    return found[1]


def test_the_payer_gets_a_message_signs_it_and_the_address_is_proved(payer: Payer, provable: Payout) -> None:
    path = path_of(provable)
    text = payer.look(path)
    for words in ("only to the address that paid", PAYER.address, "Get the message to sign"):
        assert words in text
    assert FORM not in text
    asked = Client().post(path, {"payer": PAYER.address})
    assert (asked.status_code, asked["Location"]) == (303, path)
    text = Client().get(path).text
    # As it is: without scripts it is signed by hand.
    message = message_on(text)
    assert message == message_of(WalletProof.objects.select_related("merchant").get())
    assert "/js/prove.js" in text
    sent = {"nonce": nonce_on(text), "signature": f" {PAYER.sign(message)}\n"}
    assert Client().post(path, sent).status_code == 303
    provable.refresh_from_db()
    assert (provable.status, provable.address) == (PayoutStatus.REQUESTED, PAYER.address)
    assert provable.proved_at == NOON
    text = payer.look(path)
    assert "We have your address" in text
    # There is no other one to prove.
    assert "Get the message to sign" not in text
    assert "<script" not in text


def test_what_is_no_proof_is_refused_in_words(provable: Payout) -> None:
    path = path_of(provable)
    assert Client().post(path, {"payer": BUYER}).status_code == 422
    Client().post(path, {"payer": PAYER.address})
    nonce = nonce_on(Client().get(path).text)
    for signature in ("", "0x00", "é" * 5_000, "a\0b"):
        answer = Client().post(path, {"nonce": nonce, "signature": signature})
        assert answer.status_code == 422
        assert "That is not a signature of this message by this address." in answer.text
        assert 'aria-invalid="true"' in answer.text
    spent = Client().post(path, {"nonce": "other", "signature": PAYER.sign("x")})
    assert spent.status_code == 409
    assert "Get a new one and sign that." in spent.text
    provable.refresh_from_db()
    assert (provable.status, provable.address) == (PayoutStatus.OPEN, "")


def test_an_address_that_is_only_typed_is_not_taken_where_it_must_be_proved(provable: Payout) -> None:
    assert give(provable, BUYER).status_code == 422
    provable.refresh_from_db()
    assert provable.address == ""


def test_the_message_is_the_same_in_every_language(provable: Payout) -> None:
    Client().post(path_of(provable), {"payer": PAYER.address})
    for language in LOOKED_AT:
        with case(language):
            text = Client().get(path_of(provable) + f"?lang={language}").text
            assert message_on(text).startswith("Refund address proof\n")
