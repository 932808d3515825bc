"""What a chain's sources tell of the last hour is compared with what was recorded; whoever knows more is believed."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import deploy_token
from tests.factories import make_merchant, make_wallet
from tests.nodes.proxy import honest, one_by_one, results
from tests.wallets.books import LEAVES_OUT, USDC, Books, Open, cursor, differences, without
from tests.wallets.directions import pay, shop, spend
from tests.wallets.factories import address_of, make_deposit, read_all
from tests.wallets.paying import mint, transfer
from tests.wallets.watching import moved, watch
from wallets import selectors
from wallets.models import ChainCursor, ReceivingWallet, SourceDifference, Transfer

pytestmark = pytest.mark.django_db


def test_where_all_agree_nothing_is_told_and_the_pass_is_noted(books: Books) -> None:
    books.pay()
    books.compare()
    assert differences() == []
    assert cursor().reconciled_at is not None
    assert cursor().disagreeing_since is None


def test_what_only_another_node_knows_is_recorded_and_confirmed(books: Books) -> None:
    books.first.fault = LEAVES_OUT
    tx_hash = books.pay()
    assert not Transfer.objects.exists()
    books.compare()
    found = Transfer.objects.get()
    assert (found.tx_hash, found.units, found.state) == (tx_hash, 25, "confirmed")
    assert found.queued_at is not None
    assert differences() == [("missed", tx_hash, books.second.url)]


def test_a_recorded_token_that_nobody_accepts_makes_no_difference(books: Books) -> None:
    mint(books.node, deploy_token(books.node, "USDbC"), address_of(make_deposit()), 25)
    books.node.mine(6)
    books.compare()
    assert Transfer.objects.get().token == "USDbC"
    assert differences() == []
    # Sources need not tell of it.
    books.second.fault = LEAVES_OUT
    books.compare()
    assert differences() == []


def test_a_difference_is_told_once(books: Books) -> None:
    books.first.fault = LEAVES_OUT
    tx_hash = books.pay()
    for _ in range(3):
        books.compare()
    assert Transfer.objects.count() == 1
    assert differences() == [("missed", tx_hash, books.second.url), ("unknown", tx_hash, books.first.url)]


def test_what_a_node_does_not_know_stays_and_is_closed_once_it_does(books: Books) -> None:
    tx_hash = books.pay()
    books.second.fault = LEAVES_OUT
    books.compare()
    assert differences() == [("unknown", tx_hash, books.second.url)]
    assert Transfer.objects.get().state == "confirmed"
    assert SourceDifference.objects.get().closed_at is None
    books.second.fault = honest
    books.compare()
    assert SourceDifference.objects.get().closed_at is not None


def test_another_amount_is_a_difference_too(books: Books) -> None:
    tx_hash = books.pay()

    def doubled(method: str, result: Any) -> Any:
        logs = result if method == "eth_getLogs" else []
        if method == "eth_getTransactionReceipt":
            logs = result["logs"]
        for log in logs:
            log["data"] = f"0x{int(log['data'], 16) * 2:064x}"
        return result

    books.second.fault = results(doubled)
    books.compare()
    assert differences() == [("unknown", tx_hash, books.second.url)]
    assert Transfer.objects.get().units == 25


def test_what_is_not_final_yet_is_not_compared(books: Books) -> None:
    books.pay()
    to = address_of(make_deposit())
    tx_hash = transfer(books.node, payer(books.node), USDC, to, 1)
    books.node.mine(4)
    read_all(books.watcher)
    books.second.fault = one_by_one(without(tx_hash))
    books.compare()
    assert Transfer.objects.count() == 2
    assert differences() == []
    books.node.mine()
    books.compare()
    assert differences() == [("unknown", tx_hash, books.second.url)]


def test_only_the_last_hour_is_read_again(books: Books) -> None:
    books.first.fault = LEAVES_OUT
    books.pay()
    # An hour of Base and the blocks that wait to be final.
    books.node.mine(1_800)
    books.compare()
    assert not Transfer.objects.exists()


def test_what_lies_before_a_chains_reading_began_is_not_missed(books: Books) -> None:
    books.pay()
    Transfer.objects.all().delete()
    ChainCursor.objects.update(first_height=books.node.block_number() - 3)
    books.compare()
    assert not Transfer.objects.exists()


def test_late_money_to_an_address_given_out_long_ago_is_no_difference(books: Books) -> None:
    to = address_of(make_deposit(watched_until=timezone.now() - timedelta(days=366)))
    make_deposit()
    found = books.pay(to)
    assert Transfer.objects.get().tx_hash == found
    books.compare()
    assert not differences()


def test_too_many_addresses_to_name_are_read_from_where_the_last_pass_ended(
    books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selectors, "MOST_RECIPIENTS", 0)
    make_deposit()
    books.pay()
    books.compare()
    before = books.second.requests
    books.compare()
    quiet = books.second.requests - before
    books.first.fault = LEAVES_OUT
    tx_hash = books.pay()
    books.compare()
    assert differences() == [("missed", tx_hash, books.second.url)]
    assert quiet < before


def test_what_reached_a_wallet_before_we_were_told_of_it_is_not_missed(ethereum_node: Anvil, open_books: Open) -> None:
    books = open_books(ethereum_node, chain="ethereum")
    to = ethereum_node.accounts[6].address
    books.pay(to)
    wallet = make_wallet(make_merchant(), "ethereum", to)
    later = datetime(2100, 1, 1, tzinfo=UTC)
    ReceivingWallet.objects.filter(pk=wallet.pk).update(created_at=later)
    books.compare()
    assert not Transfer.objects.exists()
    earlier = datetime(2001, 1, 1, tzinfo=UTC)
    ReceivingWallet.objects.filter(pk=wallet.pk).update(created_at=earlier)
    books.compare()
    assert Transfer.objects.get().wallet_id == wallet.pk


def test_payments_are_compared_and_bring_along_what_they_are_to_watched_wallets(books: Books) -> None:
    buyer = watch(shop(books.node).address)
    received, sent = pay(books.node, buyer.address, 50), spend(books.node, 5)
    deposit = make_deposit()
    read_all(books.watcher)
    books.first.fault = LEAVES_OUT
    missed = spend(books.node, 25, to=address_of(deposit))
    read_all(books.watcher)
    books.node.mine(6)
    read_all(books.watcher)
    before = [("in", 50, received), ("out", 5, sent)]
    assert moved(buyer) == before
    books.compare()
    assert differences() == [("missed", missed, books.second.url)]
    assert moved(buyer) == [*before, ("out", 25, missed)]
