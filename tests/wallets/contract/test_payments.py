"""What is a payment, on every chain, and what only looks like one."""

from contextlib import suppress

import pytest

from tests.wallets.contract.labs import Lab, Wallet
from wallets.chains.base import BlockRef, ChainError, TokenTransfer


def seen(lab: Lab, since: BlockRef, *wallets: Wallet) -> list[TokenTransfer]:
    """What a reader that was opened just now sees."""
    with lab.opened() as adapter:
        return lab.observe(adapter, since, *wallets)


def units(transfers: list[TokenTransfer]) -> list[int]:
    return [transfer.units for transfer in transfers]


def test_a_payment_is_told_with_all_that_is_needed_to_join_it(lab: Lab) -> None:
    wallet, since = lab.create_wallet(), lab.mark()
    tx_hash = lab.pay((wallet, 25_003_700))
    [paid] = seen(lab, since, wallet)
    spec = lab.spec(lab.url)
    assert (paid.chain, paid.units) == (spec.name, 25_003_700)
    assert (paid.recipient_key, paid.recipient) == (wallet.key, wallet.address)
    assert spec.tokens[paid.token].address == paid.token_address
    assert paid.sender not in {"", paid.recipient}
    assert paid.block_height > since.height
    assert paid.block_time >= since.time
    assert paid.block_hash
    assert paid.tx_hash == tx_hash


def test_two_transfers_of_one_transaction_are_both_told(lab: Lab) -> None:
    one, other, since = lab.create_wallet(), lab.create_wallet(), lab.mark()
    lab.pay((one, 5), (other, 7))
    found = seen(lab, since, one, other)
    assert {(paid.recipient_key, paid.units) for paid in found} == {(one.key, 5), (other.key, 7)}
    assert len({(paid.tx_hash, paid.position) for paid in found}) == 2


def test_wallets_that_are_read_together_get_each_its_own(lab: Lab) -> None:
    wallets, since = [lab.create_wallet() for _ in range(4)], lab.mark()
    for wallet, amount in zip([*wallets[:3], wallets[0]], (1, 2, 3, 9), strict=True):
        lab.pay((wallet, amount))
    found = seen(lab, since, *wallets)
    got = [sorted(units([paid for paid in found if paid.recipient_key == one.key])) for one in wallets]
    assert got == [[1, 9], [2], [3], []]


def test_transfers_of_one_transaction_to_one_wallet_are_never_added_up(lab: Lab) -> None:
    wallet, other, since = lab.create_wallet(), lab.create_wallet(), lab.mark()
    lab.pay((wallet, 5), (other, 5), (wallet, 5), (wallet, 7))
    found = seen(lab, since, wallet)
    assert sorted(units(found)) == [5, 5, 7]
    assert len({(paid.tx_hash, paid.position) for paid in found}) == 3


def test_a_transfer_keeps_its_name_however_often_it_is_read(lab: Lab) -> None:
    wallet, since = lab.create_wallet(), lab.mark()
    lab.pay((wallet, 5), (wallet, 6))
    lab.wait(3)
    assert seen(lab, since, wallet) == seen(lab, since, wallet)


def test_a_failed_transaction_paid_nothing(lab: Lab) -> None:
    wallet, since = lab.create_wallet(), lab.mark()
    lab.fail_to_pay(wallet, 25)
    lab.pay((wallet, 3))
    assert units(seen(lab, since, wallet)) == [3]


def test_a_token_that_calls_itself_the_same_is_another(lab: Lab) -> None:
    wallet, since = lab.create_wallet(), lab.mark()
    lab.pay_fake(wallet, 25)
    lab.pay((wallet, 3))
    assert units(seen(lab, since, wallet)) == [3]


def test_nothing_is_no_payment(lab: Lab) -> None:
    wallet, since = lab.create_wallet(), lab.mark()
    lab.pay((wallet, 0))
    lab.pay((wallet, 3))
    assert units(seen(lab, since, wallet)) == [3]


def test_an_approval_is_no_payment(lab: Lab) -> None:
    wallet, since = lab.create_wallet(), lab.mark()
    if reason := lab.impossible.get("approve"):
        assert reason == "a jetton wallet obeys its owner alone: there are no allowances"
        return
    lab.approve(wallet, 25)
    lab.pay((wallet, 3))
    assert units(seen(lab, since, wallet)) == [3]


def test_what_others_get_is_not_told(lab: Lab) -> None:
    wallet, stranger, since = lab.create_wallet(), lab.create_wallet(), lab.mark()
    lab.pay((stranger, 25))
    lab.pay((stranger, 24), (wallet, 3))
    assert units(seen(lab, since, wallet)) == [3]


def test_what_a_wallet_sends_to_itself_is_no_payment(lab: Lab) -> None:
    wallet, since = lab.create_wallet(), lab.mark()
    lab.pay((wallet, 25))
    lab.pay_oneself(wallet, 20)
    assert units(seen(lab, since, wallet)) == [25]


def test_dust_is_told_to_the_last_unit(lab: Lab) -> None:
    wallet, since = lab.create_wallet(), lab.mark()
    lab.pay((wallet, 1))
    assert units(seen(lab, since, wallet)) == [1]


def test_the_largest_amount_is_told_exactly(lab: Lab) -> None:
    wallet, since = lab.create_wallet(), lab.mark()
    lab.pay_huge(wallet)
    assert units(seen(lab, since, wallet)) == [lab.huge_units]


@pytest.mark.parametrize("page", [2, 7, 50])
def test_nothing_is_lost_or_doubled_between_two_pages(lab: Lab, page: int) -> None:
    wallet, since = lab.create_wallet(), lab.mark()
    for amount in range(1, 8):
        lab.pay((wallet, amount))
    with lab.opened(page=page) as adapter:
        found = lab.observe(adapter, since, wallet, page=page)
    assert sorted(units(found)) == [1, 2, 3, 4, 5, 6, 7]


def test_one_node_is_no_witness_of_its_own_word(lab: Lab) -> None:
    wallet, since = lab.create_wallet(), lab.mark()
    lab.pay((wallet, 25))
    with lab.opened() as adapter:
        [paid] = lab.observe(adapter, since, wallet)
        assert adapter.witness([paid]) is None


def test_where_nothing_happened_nothing_is_told(lab: Lab) -> None:
    wallet, since = lab.create_wallet(), lab.mark()
    assert seen(lab, since, wallet) == []
    lab.wait(5)
    assert seen(lab, since, wallet) == []


def test_a_head_that_goes_back_tells_nothing_wrong(lab: Lab) -> None:
    wallet, since = lab.create_wallet(), lab.mark()
    lab.wait(2)
    with lab.opened() as adapter:
        lab.pay((wallet, 5))
        ahead = adapter.head().block
        assert units(lab.observe(adapter, since, wallet)) == [5]
        lab.go_back(since)
        with suppress(ChainError):
            assert lab.observe(adapter, ahead, wallet) == []
        lab.wait(5)
        lab.pay((wallet, 7))
        assert units(lab.observe(adapter, since, wallet)) == [7]


def test_what_a_reorganisation_took_is_told_to_be_gone_and_nothing_else(lab: Lab) -> None:
    wallet, since = lab.create_wallet(), lab.mark()
    with lab.opened() as adapter:
        lab.pay((wallet, 4))
        fork = lab.mark()
        lab.pay((wallet, 5))
        both = lab.observe(adapter, since, wallet)
        assert (units(both), lab.gone(adapter, both)) == ([4, 5], [False, False])
        lab.fork(fork)
        lab.wait(1)
        assert lab.gone(adapter, both) == [False, True]
        assert lab.observe(adapter, since, wallet) == both[:1]
        lab.pay((wallet, 7))
        assert units(lab.observe(adapter, since, wallet)) == [4, 7]
