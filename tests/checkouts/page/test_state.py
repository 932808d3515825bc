"""What the page shows follows from the checkout, its transfers, the buyer's choice and the time."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from accounts.models import Merchant
from accounts.states import Mode
from checkouts.models import AmountReservation, Checkout
from checkouts.options import option
from checkouts.page.build import Conditions, build_page, return_url, shown_fee, typed_amount
from checkouts.page.state import CheckoutPage, PageQuery, ShownPayment, Stage, clock_of
from checkouts.rows import TransferRow
from checkouts.states import CheckoutException, CheckoutStatus
from gateway.core.money import readable
from tests.checkouts.factories import ADDRESS, EXACT_OFFERS, HEAD, OFFERS
from tests.factories import NOON, USDC_ON_BASE
from wallets.disruptions import Disruption, DisruptionKind
from wallets.networks import chain_spec
from wallets.states import TransferState

LATER = NOON + timedelta(minutes=10)
OVER = NOON + timedelta(minutes=30)
LONGER = NOON + timedelta(minutes=45)


def a_checkout(**overrides: Any) -> Checkout:
    values: dict[str, Any] = {
        "public_id": "chk_live_1",
        "code": "code",
        "merchant": Merchant(name="Halden Roasters"),
        "mode": Mode.LIVE,
        "amount": Decimal("49.00"),
        "offers": OFFERS,
        "created_at": NOON,
        "expires_at": OVER,
    }
    return Checkout(**(values | overrides))


def a_transfer(units: int = 49_000_000, *, confirmations: int = 5, **overrides: Any) -> TransferRow:
    is_final = confirmations >= 12
    row = TransferRow(
        checkout_id=1,
        transfer_id=1,
        chain="base",
        token="USDC",
        units=units,
        tx_hash="0x" + "ab" * 32,
        position=0,
        sender="0x" + "cd" * 20,
        state=TransferState.CONFIRMED if is_final else TransferState.DETECTED,
        mode=Mode.LIVE,
        block_height=HEAD - confirmations + 1,
        head=HEAD,
        detected_at=NOON,
        confirmed_at=NOON if is_final else None,
        orphaned_at=None,
    )
    return row._replace(**overrides)


def page_of(
    checkout: Checkout,
    *transfers: TransferRow,
    choice: PageQuery = PageQuery(),  # noqa: B008 - frozen
    conditions: Conditions = Conditions(),  # noqa: B008 - frozen
    now: Any = LATER,
) -> CheckoutPage:
    return build_page(checkout, transfers=transfers, choice=choice, conditions=conditions, now=now)


def payment_of(page: CheckoutPage) -> ShownPayment:
    assert page.target is not None
    assert page.target.payment is not None
    return page.target.payment


@pytest.mark.parametrize(
    ("status", "now", "stage"),
    [
        (CheckoutStatus.PENDING, LATER, Stage.PAY),
        (CheckoutStatus.PENDING, OVER, Stage.CLOSED),
        (CheckoutStatus.UNDERPAID, LATER, Stage.PAY),
        (CheckoutStatus.UNDERPAID, OVER, Stage.CLOSED),
        (CheckoutStatus.PROCESSING, LATER, Stage.SEEN),
        (CheckoutStatus.PROCESSING, OVER, Stage.SEEN),
        (CheckoutStatus.COMPLETED, OVER, Stage.COMPLETED),
        (CheckoutStatus.EXPIRED, LATER, Stage.EXPIRED),
    ],
)
def test_the_stage_follows_from_status_and_time(status: CheckoutStatus, now: Any, stage: Stage) -> None:
    assert page_of(a_checkout(status=status), now=now).stage == stage


@pytest.mark.parametrize("status", CheckoutStatus)
def test_no_address_is_in_a_page_after_the_time_to_pay(status: CheckoutStatus) -> None:
    assert ADDRESS not in repr(page_of(a_checkout(status=status), now=OVER))


def test_a_second_before_the_end_the_address_is_there() -> None:
    page = page_of(a_checkout(), now=OVER - timedelta(seconds=1))
    assert payment_of(page).address == ADDRESS


def test_references_and_metadata_never_enter_the_page() -> None:
    names = ("customer_ref", "product_ref", "order_ref", "customer_email", "webhook_url")
    checkout = a_checkout(metadata='{"a": "secret"}', **dict.fromkeys(names, "secret"))
    assert "secret" not in repr(page_of(checkout))


def test_networks_are_sorted_by_priority_and_the_first_ready_one_is_chosen() -> None:
    shuffled = dict(reversed((OFFERS | EXACT_OFFERS).items()))
    page = page_of(a_checkout(offers=shuffled))
    assert [card.chain for card in page.networks] == ["base", "polygon", "solana", "ton", "tron", "ethereum"]
    assert [card.is_chosen for card in page.networks] == [True] + [False] * 5
    assert [card.is_exact for card in page.networks] == [False] * 2 + [True] * 4


FEES = {"base": Decimal("0.9"), "polygon": Decimal("0.002"), "solana": Decimal("0.0015"), "tron": Decimal("2.04")}


def test_networks_are_sorted_by_what_they_cost_the_buyer_now_and_the_choice_does_not_follow() -> None:
    page = page_of(an_exact_checkout(), conditions=Conditions(fees=FEES))
    # TON and Ethereum have no fee here and count by their tiers.
    assert [card.chain for card in page.networks] == ["polygon", "solana", "ton", "base", "tron", "ethereum"]
    assert [card.fee for card in page.networks] == ["0.01", "0.01", "", "0.90", "2", ""]
    assert [card.is_nearly_free for card in page.networks] == [True, True, False, False, False, False]
    assert chosen(page) == "base"


def test_a_known_fee_takes_the_place_of_the_word_for_a_high_one() -> None:
    page = page_of(an_exact_checkout())
    assert [card.shown_badge for card in page.networks] == ["Recommended", *[None] * 4, "High gas"]
    page = page_of(an_exact_checkout(), conditions=Conditions(fees={"ethereum": Decimal("0.04")}))
    assert "High gas" not in [card.shown_badge for card in page.networks]


@pytest.mark.parametrize(
    ("usd", "shown"),
    [
        (None, ""),
        ("0", "0.01"),
        ("0.0015", "0.01"),
        ("0.014", "0.01"),
        ("0.13026", "0.10"),
        ("0.096", "0.10"),
        ("1.5", "2"),
        ("9.6", "10"),
        ("123", "100"),
    ],
)
def test_a_fee_is_one_digit_and_never_below_a_cent(usd: str | None, shown: str) -> None:
    assert shown_fee(Decimal(usd) if usd else None) == shown


def test_gas_does_not_draw_an_open_page_again() -> None:
    checkout = an_exact_checkout()
    dearer = page_of(checkout, conditions=Conditions(fees=FEES | {"base": Decimal(7)}))
    assert dearer.digest() == page_of(checkout, conditions=Conditions(fees=FEES)).digest()
    other = page_of(checkout, choice=PageQuery("polygon"), conditions=Conditions(fees=FEES))
    assert other.digest() != dearer.digest()


def test_only_networks_that_take_the_chosen_token_are_shown() -> None:
    page = page_of(an_exact_checkout(), choice=PageQuery("", "USDT"))
    assert [card.chain for card in page.shown_networks] == ["polygon", "ton", "tron", "ethereum"]
    page = page_of(an_exact_checkout())
    assert [card.chain for card in page.shown_networks] == ["base", "polygon", "solana", "ethereum"]


def test_from_an_exchange_one_pays_where_the_digits_do_not_matter() -> None:
    page = page_of(an_exact_checkout())
    assert page.offers_exact
    assert [card.chain for card in page.addressed_networks] == ["base", "polygon"]
    assert not page_of(a_checkout()).offers_exact
    assert page_of(an_exact_checkout(offers=EXACT_OFFERS)).addressed_networks == ()


@pytest.mark.parametrize(
    ("choice", "chain", "token"),
    [
        (PageQuery(), "base", "USDC"),
        (PageQuery("polygon", "USDT"), "polygon", "USDT"),
        (PageQuery("polygon", ""), "polygon", "USDC"),
        (PageQuery("base", "USDT"), "base", "USDC"),
        (PageQuery("", "USDT"), "polygon", "USDT"),
        (PageQuery("", "DAI"), "base", "USDC"),
        (PageQuery("solana", "USDC"), "base", "USDC"),
        (PageQuery("<script>", "\x00"), "base", "USDC"),
    ],
)
def test_a_choice_counts_only_where_it_was_offered(choice: PageQuery, chain: str, token: str) -> None:
    target = page_of(a_checkout(), choice=choice).target
    assert target is not None
    assert (target.chain, target.token) == (chain, token)


def test_an_exact_amount_chain_shows_no_address_before_an_amount_is_reserved() -> None:
    checkout = a_checkout(offers=OFFERS | EXACT_OFFERS, mode=Mode.TEST)
    page = page_of(checkout, choice=PageQuery("solana", "USDC"))
    assert page.target is not None
    assert page.target.payment is None
    assert page.round_price_network is not None
    assert page.round_price_network.link == "?chain=base&token=USDC"


def test_a_way_to_a_network_of_round_prices_keeps_the_token_where_that_is_taken() -> None:
    page = page_of(an_exact_checkout(), choice=PageQuery("tron", "USDT"))
    links = [card.link for card in page.addressed_networks]
    assert links == ["?chain=base&token=USDC", "?chain=polygon&token=USDT"]


def test_an_underpaid_page_asks_for_what_is_left_where_the_rest_was_paid() -> None:
    checkout = a_checkout(status=CheckoutStatus.UNDERPAID, amount_received=Decimal("20.5"))
    row = a_transfer(20_500_000, confirmations=12, chain="polygon", token="USDT")
    page = page_of(checkout, row)
    assert page.is_part_paid
    assert page.target is not None
    assert (page.target.chain, page.target.token) == ("polygon", "USDT")
    assert (payment_of(page).amount, payment_of(page).address) == ("28.50", ADDRESS)
    assert (page.received, page.remaining) == ("20.50 USDT", "28.50 USDT")


@pytest.mark.parametrize(
    ("paid_on", "paid_in", "choice", "left", "is_same"),
    [
        ("polygon", "USDC", PageQuery("polygon", "USDT"), "28.50 USDT", True),
        ("base", "USDC", PageQuery("polygon", "USDC"), "28.50 USDC", True),
        ("tron", "USDT", PageQuery("base", ""), "28.50 USDC", False),
        ("tron", "USDT", PageQuery("polygon", "USDT"), "28.50 USDT", False),
    ],
)
def test_the_rest_is_in_the_token_that_is_asked_for_and_at_the_same_address_only_where_a_part_came(
    paid_on: str, paid_in: str, choice: PageQuery, left: str, is_same: bool
) -> None:
    received = Decimal("20.5")
    checkout = a_checkout(offers=OFFERS | EXACT_OFFERS, status=CheckoutStatus.UNDERPAID, amount_received=received)
    row = a_transfer(20_500_000, confirmations=12, chain=paid_on, token=paid_in)
    page = page_of(checkout, row, choice=choice)
    assert (page.left_to_pay, page.is_same_address) == (left, is_same)


def test_money_in_two_tokens_is_summed_in_dollars() -> None:
    checkout = a_checkout(status=CheckoutStatus.UNDERPAID, amount_received=Decimal(30))
    rows = [a_transfer(10_000_000), a_transfer(20_000_000, chain="polygon", token="USDT")]
    assert page_of(checkout, *rows).received == "30.00 USD"


def test_the_wallet_is_asked_for_exactly_what_the_page_says() -> None:
    page = page_of(a_checkout(amount=Decimal("49.10")))
    wallet = payment_of(page).wallet
    assert wallet is not None
    assert wallet.chain_id == "0x2105"
    assert wallet.token_contract == USDC_ON_BASE
    assert (wallet.to, wallet.units) == (ADDRESS, 49_100_000)


def test_no_wallet_is_asked_for_real_money_in_test_mode() -> None:
    page = page_of(a_checkout(mode=Mode.TEST))
    assert payment_of(page).wallet is None


@pytest.mark.parametrize(("network", "shown"), [("mainnet", ""), ("local", "http://127.0.0.1:1")])
def test_node_addresses_leave_the_server_only_for_local_chains(network: str, shown: str, settings: Any) -> None:
    settings.CHAIN_NETWORK = network
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": "http://127.0.0.1:1"}
    page = page_of(a_checkout())
    wallet = payment_of(page).wallet
    assert wallet is not None
    assert wallet.rpc_url == shown


def test_confirmations_are_those_of_the_transfer_that_is_furthest_from_final() -> None:
    checkout = a_checkout(status=CheckoutStatus.PROCESSING, amount_received=Decimal(49))
    page = page_of(
        checkout,
        a_transfer(20_000_000, confirmations=12),
        a_transfer(19_000_000, confirmations=3),
        a_transfer(10_000_000, confirmations=7),
    )
    assert page.confirmations is not None
    assert (page.confirmations.count, page.confirmations.required) == (3, 12)
    assert page.confirmations.seconds_left == 18


def test_confirmations_never_pass_what_is_required() -> None:
    row = a_transfer(confirmations=5, block_height=HEAD - 40)
    page = page_of(a_checkout(status=CheckoutStatus.PROCESSING), row)
    assert page.confirmations is not None
    assert (page.confirmations.count, page.confirmations.seconds_left) == (12, 0)


def test_orphaned_transfers_are_on_no_receipt() -> None:
    gone = a_transfer(state=TransferState.ORPHANED, tx_hash="0xgone")
    page = page_of(a_checkout(), gone)
    assert page.transfers == ()


def test_a_receipt_links_to_the_explorer_but_never_for_a_simulated_transfer() -> None:
    real = a_transfer(tx_hash="0xaa")
    pages = [page_of(a_checkout(), row) for row in (real, real._replace(mode=Mode.TEST))]
    urls = [page.transfers[0].url for page in pages]
    assert urls == ["https://basescan.org/tx/0xaa", None]


def test_too_much_is_named_only_for_an_overpaid_checkout() -> None:
    paid = a_checkout(status=CheckoutStatus.COMPLETED, amount_received=Decimal("54.25"))
    assert page_of(paid, a_transfer(54_250_000)).excess == ""
    paid.exception = CheckoutException.OVERPAID
    assert page_of(paid, a_transfer(54_250_000)).excess == "5.25 USDC"


def test_the_digest_changes_with_whatever_is_shown_and_not_with_the_clock() -> None:
    page = page_of(a_checkout())
    assert page.digest() == page_of(a_checkout(), now=LATER + timedelta(seconds=1)).digest()
    changed = replace(page, received="1.00 USDC")
    assert changed.digest() != page.digest()
    assert page_of(a_checkout(), now=OVER).digest() != page.digest()


def test_the_scenario_of_a_test_checkout_is_completed_unless_given() -> None:
    assert page_of(a_checkout(mode=Mode.TEST)).scenario == "completed"
    late = a_checkout(mode=Mode.TEST, test_scenario="late")
    assert page_of(late).scenario == "late"


@pytest.mark.parametrize(
    ("amount", "text"),
    [("49", "49.00"), ("0.1", "0.10"), ("28.9995", "28.9995"), ("1234567", "1,234,567.00"), ("0.000001", "0.000001")],
)
def test_amounts_are_written_in_one_way_and_typed_without_marks(amount: str, text: str) -> None:
    assert readable(Decimal(amount)) == text
    assert typed_amount(Decimal(amount)) == text.replace(",", "")


def test_a_large_price_is_grouped_and_the_amount_to_send_is_not() -> None:
    page = page_of(a_checkout(amount=Decimal("1000000.00")))
    assert page.price == "1,000,000.00"
    assert payment_of(page).amount == "1000000.00"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("", ""),
        ("https://shop.example/", "https://shop.example/?checkout_id=chk_live_1&status=completed"),
        (
            "https://shop.example/a?b=c%26d&e=#part",
            "https://shop.example/a?b=c%26d&e=&checkout_id=chk_live_1&status=completed#part",
        ),
        (
            "https://shop.example/?flag&name=%ff&sign=a%20b",
            "https://shop.example/?flag&name=%ff&sign=a%20b&checkout_id=chk_live_1&status=completed",
        ),
        (
            "https://shop.example/?status=new&a=1&check%6fut_id=7&b=%20&status=&Status=x#status=a",
            "https://shop.example/?a=1&b=%20&Status=x&checkout_id=chk_live_1&status=completed#status=a",
        ),
        (
            "https://shop.example/#/paid?status=x",
            "https://shop.example/?checkout_id=chk_live_1&status=completed#/paid?status=x",
        ),
        ("https://shop.example/?status", "https://shop.example/?checkout_id=chk_live_1&status=completed"),
        ("javascript:alert(1)", ""),
        ("ftp://shop.example/", ""),
    ],
)
def test_the_way_back_names_checkout_and_status(url: str, expected: str) -> None:
    checkout = a_checkout(redirect_url=url, status=CheckoutStatus.COMPLETED)
    assert return_url(checkout) == expected


@pytest.mark.parametrize(
    ("seconds", "text", "is_short", "ring"),
    [
        (1800, "30:00", False, 0),
        (301, "05:01", False, 84),
        (299, "04:59", True, 84),
        (0, "00:00", True, 100),
        (-5, "00:00", True, 100),
    ],
)
def test_the_countdown_counts_to_the_end(seconds: int, text: str, is_short: bool, ring: int) -> None:
    clock = clock_of(page_of(a_checkout()), now=OVER - timedelta(seconds=seconds))
    assert (clock.text, clock.is_short, clock.ring_offset) == (text, is_short, ring)


def test_a_countdown_of_hours_shows_them() -> None:
    checkout = a_checkout(expires_at=NOON + timedelta(hours=24))
    clock = clock_of(page_of(checkout), now=NOON + timedelta(seconds=1))
    assert clock.text == "23:59:59"


# The page of exact-amount networks, and of networks that are not well, worked out from plain data.


MEMO = "0123456789abcdef"


def an_exact_checkout(**overrides: Any) -> Checkout:
    return a_checkout(**({"offers": OFFERS | EXACT_OFFERS} | overrides))


def reserving(suffix: int = 137, price: str = "49.00") -> Conditions:
    reserved = AmountReservation(
        merchant=Merchant(name="Halden Roasters"),
        price=Decimal(price),
        suffix=suffix,
        reference=bytes(range(32)),
        memo=MEMO,
    )
    return Conditions(reserved=reserved)


def page_on(chain: str, conditions: Conditions, checkout: Checkout | None = None) -> CheckoutPage:
    return page_of(checkout or an_exact_checkout(), choice=PageQuery(chain), conditions=conditions)


@pytest.mark.parametrize(
    ("suffix", "amount", "marked"),
    [
        (137, "49.000137", "0137"),
        (1300, "49.0013", "13"),
        (9900, "49.0099", "99"),
        (1, "49.000001", "0001"),
        (9990, "49.00999", "999"),
        (1000, "49.001", "1"),
    ],
)
def test_the_digits_that_identify_the_checkout_are_told_from_the_price(suffix: int, amount: str, marked: str) -> None:
    payment = payment_of(page_on("tron", reserving(suffix)))
    assert payment.amount == amount
    assert (payment.price_digits, payment.own_digits) == (["49.00"], marked)


def test_no_digit_is_marked_where_the_address_identifies() -> None:
    payment = payment_of(page_on("base", reserving()))
    assert (payment.amount, payment.own_digits) == ("49.00", "")
    assert (payment.memo, payment.fills_amount) == ("", False)


@pytest.mark.parametrize("chain", EXACT_OFFERS)
def test_one_reserved_amount_is_shown_on_every_exact_network(chain: str) -> None:
    page = page_on(chain, reserving())
    assert payment_of(page).amount == "49.000137"
    assert page.target is not None
    assert page.target.network.is_exact


@pytest.mark.parametrize("chain", EXACT_OFFERS)
def test_nothing_is_shown_to_send_to_before_the_amount_is_reserved(chain: str) -> None:
    page = page_on(chain, Conditions())
    assert page.target is not None
    assert page.target.payment is None
    assert EXACT_OFFERS[chain]["wallet"] not in repr(page)


@pytest.mark.parametrize("status", CheckoutStatus)
def test_no_wallet_is_in_a_page_after_the_time_to_pay(status: CheckoutStatus) -> None:
    page = page_of(an_exact_checkout(status=status), conditions=reserving(), now=OVER)
    for offer in EXACT_OFFERS.values():
        assert offer["wallet"] not in repr(page)


def test_each_network_says_in_its_own_way_whose_payment_it_is() -> None:
    pages = {chain: payment_of(page_on(chain, reserving())) for chain in EXACT_OFFERS}
    assert {chain: p.memo for chain, p in pages.items() if p.memo} == {"ton": MEMO}
    assert [chain for chain, p in pages.items() if p.has_reference] == ["solana"]
    assert [chain for chain, p in pages.items() if p.fills_amount] == ["solana", "ton"]
    assert "amount=49.000137" in pages["solana"].qr_text
    assert f"text={MEMO}" in pages["ton"].qr_text


def test_on_ton_code_and_links_end_with_the_checkout_and_move_with_its_end() -> None:
    usual, longer = (page_on("ton", reserving(), an_exact_checkout(expires_at=end)) for end in (OVER, LONGER))
    for page, end in ((usual, OVER), (longer, LONGER)):
        payment = payment_of(page)
        links = [payment.qr_text, *(link.url for link in payment.links)]
        assert len(links) == 3
        assert [parse_qs(urlsplit(link).query)["exp"] for link in links] == [[f"{end.timestamp():.0f}"]] * 3
    # An open page is drawn anew.
    assert usual.digest() != longer.digest()


def test_links_of_other_networks_and_of_the_api_have_no_end() -> None:
    for chain in ("solana", "tron", "ethereum", "base"):
        payment = payment_of(page_on(chain, reserving()))
        assert not any("exp=" in link for link in (payment.qr_text, *(link.url for link in payment.links)))
    told = option(an_exact_checkout(), chain_spec("ton"), token="USDT", reserved=reserving().reserved, is_payable=True)
    assert told["paymentUri"].endswith(f"&text={MEMO}")


def test_on_ton_the_page_shows_the_address_as_wallets_do() -> None:
    payment = payment_of(page_on("ton", reserving()))
    assert payment.address.startswith("UQ")
    assert payment.address in payment.qr_text


def test_an_ethereum_wallet_is_asked_for_the_exact_amount() -> None:
    wallet = payment_of(page_on("ethereum", reserving())).wallet
    assert wallet is not None
    assert (wallet.chain_id, wallet.units) == ("0x1", 49_000_137)
    assert wallet.to == EXACT_OFFERS["ethereum"]["wallet"]
    test_page = page_on("ethereum", reserving(), an_exact_checkout(mode=Mode.TEST))
    assert payment_of(test_page).wallet is None
    assert payment_of(test_page).links == ()


def test_an_app_opens_this_very_page() -> None:
    link, *_ = payment_of(page_on("tron", reserving())).links
    assert "%2Fc%2Fcode%3Fchain%3Dtron" in link.url


def test_an_exact_network_comes_first_only_where_it_can_be_paid_at_once() -> None:
    only_exact = an_exact_checkout(offers=EXACT_OFFERS)
    assert chosen(page_of(only_exact)) == "solana"
    assert chosen(page_of(an_exact_checkout())) == "base"
    assert chosen(page_of(an_exact_checkout(), conditions=reserving())) == "base"


def chosen(page: CheckoutPage) -> str:
    [card] = [card for card in page.networks if card.is_chosen]
    return card.chain


def test_a_short_payment_asks_for_a_fresh_amount_on_its_network() -> None:
    checkout = an_exact_checkout(status=CheckoutStatus.UNDERPAID, amount_received=Decimal("20.5"))
    row = a_transfer(20_500_000, confirmations=12, chain="solana")
    before = page_of(checkout, row)
    assert chosen(before) == "solana"
    assert before.target is not None
    assert before.target.payment is None
    after = page_of(checkout, row, conditions=reserving(200, "28.50"))
    assert payment_of(after).amount == "28.5002"


@pytest.mark.parametrize("chain", [*OFFERS, *EXACT_OFFERS])
def test_no_network_asks_for_the_whole_price_once_a_part_came(chain: str) -> None:
    checkout = an_exact_checkout(status=CheckoutStatus.UNDERPAID, amount_received=Decimal("20.5"))
    row = a_transfer(20_500_000, confirmations=12, chain=chain)
    page = page_of(checkout, row, conditions=reserving(200, "28.50"))
    assert chosen(page) == chain
    payment, is_exact = payment_of(page), chain in EXACT_OFFERS
    assert payment.amount == ("28.5002" if is_exact else "28.50")
    if payment.wallet is not None:
        assert payment.wallet.units == 28_500_000 + 200 * is_exact
    # In none of the code's text, the links and the wallet's request.
    for whole in ("49.00", "49000", "amount=49", "value=49"):
        assert whole not in repr(payment)


def test_a_network_that_is_down_shows_no_address_and_is_not_chosen_for_anybody() -> None:
    down = Conditions(disruptions={"base": Disruption(DisruptionKind.DOWN, "base")})
    assert chosen(page_of(a_checkout(), conditions=down)) == "polygon"
    page = page_on("base", down)
    assert page.target is not None
    assert page.target.network.is_down
    assert page.target.payment is None
    assert page.round_price_network is not None
    assert page.round_price_network.chain == "polygon"
    assert ADDRESS not in repr(replace(page, networks=()))


def test_when_all_are_down_the_first_is_shown_as_such() -> None:
    down = Conditions(disruptions={chain: Disruption(DisruptionKind.HALTED, chain) for chain in OFFERS})
    page = page_of(a_checkout(), conditions=down)
    assert chosen(page) == "base"
    assert page.round_price_network is None
    assert ADDRESS not in repr(page)


def test_a_slow_network_is_marked_and_can_be_paid_on() -> None:
    slow = Conditions(disruptions={"base": Disruption(DisruptionKind.DELAYED, "base")})
    page = page_of(a_checkout(), conditions=slow)
    assert [card.is_slow for card in page.networks] == [True, False]
    assert payment_of(page).address == ADDRESS


def test_an_exhausted_price_closes_the_exact_networks_alone() -> None:
    full = Conditions(is_full=True)
    page = page_of(an_exact_checkout(), conditions=full)
    assert [card.chain for card in page.networks if card.is_full] == list(EXACT_OFFERS)
    assert chosen(page) == "base"
    assert page_on("tron", full).target is not None
    assert chosen(page_on("tron", full)) == "tron"
