"""What every chain tells of a transaction that somebody names by its hash."""

import random
from collections.abc import Iterator

import pytest

from tests.cases import case
from tests.exhaustive import EXHAUSTIVE
from tests.wallets.contract.hostile import Fault, HttpProxy, honest
from tests.wallets.contract.labs import Lab, Wallet
from tests.wallets.contract.test_hostile_nodes import FAULTS, KINDS, after, with_nonsense
from wallets.chains.base import BlockRef, ChainError, FoundMovement, FoundTransaction, TokenTransfer

MUTATIONS = 60 if EXHAUSTIVE else 20


def find(lab: Lab, tx_hash: str, *urls: str) -> FoundTransaction | None:
    """What a reader that was opened just now finds."""
    with lab.opened(*urls) as adapter:
        return adapter.find(tx_hash)


def found(lab: Lab, tx_hash: str, *urls: str) -> FoundTransaction:
    """As `find`, of what must be there."""
    answer = find(lab, tx_hash, *urls)
    assert answer is not None
    assert (answer.chain, answer.tx_hash) == (lab.spec(lab.url).name, tx_hash)
    return answer


def watched(lab: Lab, since: BlockRef, *wallets: Wallet) -> list[TokenTransfer]:
    """What watchers read of these wallets."""
    with lab.opened() as adapter:
        return lab.observe(adapter, since, *wallets)


def to(wallet: Wallet, answer: FoundTransaction) -> list[FoundMovement]:
    """What a wallet got."""
    return [one for one in answer.movements if one.recipient_key == wallet.key]


def unknown(lab: Lab, tx_hash: str) -> str:
    """A hash of the same kind that no transaction has."""
    return tx_hash[:-8] + ("1" * 8 if lab.spec(lab.url).name == "solana" else "0" * 8)


def test_a_payment_is_found_as_watchers_read_it(lab: Lab) -> None:
    wallet, since = lab.create_wallet(), lab.mark()
    answer = found(lab, lab.pay((wallet, 25_003_700)))
    [read] = watched(lab, since, wallet)
    [paid] = to(wallet, answer)
    assert (paid.token, paid.token_address) == (read.token, read.token_address)
    assert (paid.units, paid.recipient) == (25_003_700, wallet.address)
    assert (paid.sender, paid.position) == (read.sender, read.position)
    assert answer.succeeded
    assert (answer.block_height, answer.block_time) == (read.block_height, read.block_time)
    assert list(answer.transfers) == [read]


def test_every_transfer_of_one_transaction_is_found_in_its_place(lab: Lab) -> None:
    one, other, since = lab.create_wallet(), lab.create_wallet(), lab.mark()
    answer = found(lab, lab.pay((one, 5), (other, 7), (one, 5)))
    assert [m.units for m in to(one, answer)] == [5, 5]
    assert [m.units for m in to(other, answer)] == [7]
    read = watched(lab, since, one, other)
    mine = [one for one in answer.transfers if one in read]
    assert sorted(mine, key=repr) == sorted(read, key=repr)


def test_a_transaction_becomes_final_as_its_transfer_does(lab: Lab) -> None:
    wallet = lab.create_wallet()
    tx_hash = lab.pay((wallet, 25))
    for _ in range(40):
        with lab.opened() as adapter:
            before = adapter.head()
            answer = adapter.find(tx_hash)
            after_ = adapter.head()
            assert answer is not None
            assert answer.block_height is not None
            finals = [
                answer.block_height <= adapter.final_height(head, read_height=head.block.height)
                for head in (before, after_)
            ]
        assert answer.is_final in finals
        lab.wait(1)
    assert found(lab, tx_hash).is_final


def test_a_large_payment_is_final_where_the_chain_itself_says_so(lab: Lab) -> None:
    wallet = lab.create_wallet()
    tx_hash = lab.pay((wallet, 10_000 * 10**6))
    with lab.opened() as adapter:
        answer, finalized = adapter.find(tx_hash), adapter.finalized()
    assert answer is not None
    assert answer.block_height is not None
    if answer.block_height > finalized:
        assert not answer.is_final
    lab.wait(60)
    assert found(lab, tx_hash).is_final


def test_what_waits_for_a_block_has_moved_nothing_yet(lab: Lab) -> None:
    if "pay_later" in lab.impossible:
        assert "java-tron" in lab.impossible["pay_later"]
        return
    wallet = lab.create_wallet()
    tx_hash = lab.pay_later(wallet, 25)
    waiting = found(lab, tx_hash)
    assert (waiting.block_height, waiting.block_time) == (None, None)
    assert not waiting.is_final
    assert (list(waiting.movements), list(waiting.transfers)) == ([], [])
    lab.settle()
    [paid] = to(wallet, found(lab, tx_hash))
    assert paid.units == 25


def test_what_failed_moved_nothing(lab: Lab) -> None:
    wallet = lab.create_wallet()
    answer = found(lab, lab.fail_to_pay(wallet, 25))
    assert not answer.succeeded
    assert answer.block_height is not None
    assert (list(answer.movements), list(answer.transfers)) == ([], [])


def test_a_transfer_of_nothing_moved_nothing(lab: Lab) -> None:
    wallet, other = lab.create_wallet(), lab.create_wallet()
    answer = found(lab, lab.pay((other, 3), (wallet, 0)))
    assert to(wallet, answer) == []
    for told in (answer.movements, answer.transfers):
        assert {one.units for one in told if one.token} == {3}


def test_a_hash_that_nobody_used_is_known_to_no_node(lab: Lab) -> None:
    tx_hash = lab.pay((lab.create_wallet(), 25))
    assert find(lab, unknown(lab, tx_hash)) is None
    with HttpProxy(lab.url) as another:
        assert find(lab, unknown(lab, tx_hash), lab.url, another.url) is None
        assert another.requests


def test_a_token_that_calls_itself_the_same_has_no_symbol(lab: Lab) -> None:
    wallet = lab.create_wallet()
    answer = found(lab, lab.pay_fake(wallet, 25))
    [paid] = to(wallet, answer)
    assert (paid.token, paid.units) == (None, 25)
    spec = lab.spec(lab.url)
    listed = {token.address for token in spec.tokens.values()}
    assert paid.token_address not in {"", *listed}
    assert list(answer.transfers) == []


def test_the_chains_own_coin_is_told_without_an_address(lab: Lab) -> None:
    wallet = lab.create_wallet()
    answer = found(lab, lab.pay_coin(wallet, 3_000_000))
    [paid] = to(wallet, answer)
    assert (paid.token, paid.token_address, paid.units) == (None, "", 3_000_000)
    assert paid.recipient == wallet.address
    assert paid.sender not in {"", wallet.address}
    assert answer.succeeded


def test_what_a_wallet_sends_to_itself_moved_nothing(lab: Lab) -> None:
    wallet = lab.create_wallet()
    lab.pay((wallet, 25))
    answer = found(lab, lab.pay_oneself(wallet, 20))
    assert [one for one in to(wallet, answer) if one.token] == []
    assert list(answer.transfers) == []
    [told] = [one for one in answer.to_oneself if one.token]
    assert (told.recipient_key, told.sender) == (wallet.key, wallet.address)
    assert (told.units, answer.succeeded) == (20, True)


def test_what_a_reorganisation_took_is_not_found_any_more(lab: Lab) -> None:
    wallet, since = lab.create_wallet(), lab.mark()
    tx_hash = lab.pay((wallet, 5))
    assert find(lab, tx_hash) is not None
    lab.fork(since)
    assert find(lab, tx_hash) is None


class Scene:
    """A payment of 25 units, looked up through a proxy."""

    def __init__(self, lab: Lab, proxy: HttpProxy) -> None:
        self.lab, self.proxy = lab, proxy
        self.wallet = lab.create_wallet()
        self.tx_hash = lab.pay((self.wallet, 25))
        # One may be sent again on a busy machine: the least of three is what a look-up takes.
        self.requests = min(self._requests_of_a_look() for _ in range(3))

    def _requests_of_a_look(self) -> int:
        before = self.proxy.requests
        assert self.look(honest) == [25]
        return self.proxy.requests - before

    def look(self, fault: Fault) -> list[int]:
        """What the wallet got, told by a node that fails so. Raises ChainError."""
        return [one.units for one in to(self.wallet, self.find(fault))]

    def find(self, fault: Fault) -> FoundTransaction:
        """As `look`, and return all of it."""
        self.proxy.fault = fault
        return found(self.lab, self.tx_hash, self.proxy.url)


@pytest.fixture
def scene(lab: Lab) -> Iterator[Scene]:
    with HttpProxy(lab.url) as proxy:
        yield Scene(lab, proxy)


@pytest.mark.parametrize("kind", KINDS)
def test_a_node_that_cannot_tell_is_no_node_that_knows_nothing(scene: Scene, kind: str) -> None:
    for name, fault in KINDS[kind].items():
        with case(name):
            for healthy in range(scene.requests):
                with pytest.raises(ChainError):
                    scene.look(after(healthy, fault))
            assert scene.look(honest) == [25]


def test_where_one_node_fails_another_one_is_asked(scene: Scene) -> None:
    scene.proxy.fault = FAULTS["500"]
    answer = found(scene.lab, scene.tx_hash, scene.proxy.url, scene.lab.url)
    assert [one.units for one in to(scene.wallet, answer)] == [25]


def test_what_no_node_knows_is_not_sure_while_one_cannot_be_asked(scene: Scene) -> None:
    scene.proxy.fault = FAULTS["500"]
    nobodys = unknown(scene.lab, scene.tx_hash)
    for urls in ((scene.proxy.url, scene.lab.url), (scene.lab.url, scene.proxy.url)):
        with pytest.raises(ChainError):
            find(scene.lab, nobodys, *urls)


def test_a_field_of_nonsense_is_refused_or_does_not_matter(scene: Scene) -> None:
    chance = random.Random(7)
    refused = 0
    for _ in range(MUTATIONS):
        healthy = chance.randrange(scene.requests)
        try:
            answer = find_with(scene, after(healthy, with_nonsense(chance), only_once=True))
        except ChainError:
            refused += 1
            continue
        for transfer in () if answer is None else answer.transfers:
            assert type(transfer.units) is int
            assert transfer.units > 0
            assert transfer.recipient_key == scene.wallet.key
    assert refused


def find_with(scene: Scene, fault: Fault) -> FoundTransaction | None:
    """What a node tells that fails so, be it nothing."""
    scene.proxy.fault = fault
    return find(scene.lab, scene.tx_hash, scene.proxy.url)
