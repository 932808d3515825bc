"""A node that fails in the middle of a reading: every chain's reader tells the truth then, or raises ChainError."""

import json
import random
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import pytest

from tests.cases import case
from tests.exhaustive import EXHAUSTIVE
from tests.wallets.contract.hostile import Answer, Fault, HttpProxy, honest
from tests.wallets.contract.labs import AccountLab, Adapter, BlockLab, Lab, Wallet
from wallets.chains.base import BlockRef, ChainError, ChainUnavailableError, RangeTooLargeError, TokenTransfer

MEGABYTE = 2**20
MUTATIONS = 60 if EXHAUSTIVE else 20
NONSENSE: list[Any] = [None, "", "x", -1, 10**30, 1.5, True, [], {}, [None], "\0" * 9]


def answering(body: bytes, **options: Any) -> Fault:
    """Answer everything with these bytes."""
    return lambda target, answer: Answer(body, **options)


def cut_off(target: str, answer: Answer) -> Answer:
    """Break off in the middle."""
    return Answer(answer.body, cut=max(len(answer.body) // 2, 1))


def ended_early(target: str, answer: Answer) -> Answer:
    """Send half, and claim that it is all."""
    return Answer(answer.body[: len(answer.body) // 2])


def dropped(target: str, answer: Answer) -> Answer:
    """Close the connection without an answer."""
    raise ConnectionResetError


KINDS: dict[str, dict[str, Fault]] = {
    "a refusal": {
        "rate limit": answering(b"slow down", status=429, headers={"Retry-After": "7"}),
        "500": answering(b"oops", status=500),
        "403": answering(b"go away", status=403),
    },
    "no whole answer": {"nothing": answering(b""), "dropped": dropped, "cut off": cut_off, "ended early": ended_early},
    "another document": {
        "null": answering(b"null"),
        "an empty object": answering(b"{}"),
        "an empty list": answering(b"[]"),
        "a text": answering(b'"0x1"'),
    },
    "no document": {
        "html": answering(b"<html>502 Bad Gateway</html>"),
        "not utf-8": answering(b"\xff\xfe{}"),
        "deep nesting": answering(b"[" * 100_000),
        "10 MB of garbage": answering(b"x" * 10 * MEGABYTE),
        "17 MB": lambda target, answer: Answer(answer.body + b" " * 17 * MEGABYTE),
    },
}
"""Faults by kind: making a chain takes longer than to try one."""

FAULTS = {name: fault for faults in KINDS.values() for name, fault in faults.items()}


class Scene:
    """A wallet that got 25 units, and 9 of a token that no checkout accepts, seen through a proxy."""

    def __init__(self, lab: Lab, proxy: HttpProxy) -> None:
        self.lab, self.proxy = lab, proxy
        self.wallet: Wallet = lab.create_wallet()
        self.since: BlockRef = lab.mark()
        lab.pay((self.wallet, 25))
        # What payments alone take, which are read first; and all that is asked.
        alone = self._requests_of_a_look()
        lab.pay_other(self.wallet, 9)
        self.all_requests = self._requests_of_a_look()
        self.requests = alone if isinstance(lab, AccountLab) else self.all_requests

    def _requests_of_a_look(self) -> int:
        # One may be sent again, if a block came in between.
        return min(self._requests_of_one_look() for _ in range(3))

    def _requests_of_one_look(self) -> int:
        before = self.proxy.requests
        assert self.look(honest) == [25]
        return self.proxy.requests - before

    def look(self, fault: Fault) -> list[int]:
        """Read payments with a reader of its own, while the node fails so. Raises ChainError."""
        with self.opened() as adapter:
            return self.payments(self.read(adapter, fault))

    def opened(self) -> AbstractContextManager[Adapter]:
        """A reader behind the proxy."""
        return self.lab.opened(self.proxy.url)

    def read(self, adapter: Adapter, fault: Fault) -> list[TokenTransfer]:
        """All that is read while the node fails so. Raises ChainError."""
        self.proxy.fault = fault
        return self.lab.observe(adapter, self.since, self.wallet)

    def payments(self, found: Sequence[TokenTransfer]) -> list[int]:
        """The amounts in the token that checkouts accept."""
        return [transfer.units for transfer in found if transfer.token_address != self.lab.other]


@pytest.fixture
def scene(lab: Lab) -> Iterator[Scene]:
    with HttpProxy(lab.url) as proxy:
        yield Scene(lab, proxy)


def after(healthy: int, fault: Fault, *, only_once: bool = False) -> Fault:
    """Answer so many requests honestly before the fault."""
    count = 0

    def change(target: str, answer: Answer) -> Answer:
        nonlocal count
        count += 1
        is_struck = count == healthy + 1 or (count > healthy and not only_once)
        return fault(target, answer) if is_struck else answer

    return change


@pytest.mark.parametrize("kind", KINDS)
def test_a_reader_that_cannot_read_raises_and_the_payment_is_read_later(scene: Scene, kind: str) -> None:
    for name, fault in KINDS[kind].items():
        with case(name):
            for healthy in range(scene.requests):
                with pytest.raises(ChainError):
                    scene.look(after(healthy, fault))
            assert scene.look(honest) == [25]


@pytest.mark.parametrize("is_spare", [False, True], ids=["preferred", "spare"])
@pytest.mark.parametrize("fault", ["500", "17 MB"])
def test_where_one_of_two_nodes_fails_the_other_is_read(scene: Scene, fault: str, is_spare: bool) -> None:
    urls = [scene.proxy.url, scene.lab.url]
    for healthy in range(scene.requests):
        scene.proxy.fault = after(healthy, FAULTS[fault])
        with scene.lab.opened(*(reversed(urls) if is_spare else urls)) as adapter:
            try:
                found = scene.lab.observe(adapter, scene.since, scene.wallet)
            except RangeTooLargeError:
                # Where blocks are read, the watcher asks for fewer of them.
                assert (fault, isinstance(scene.lab, BlockLab)) == ("17 MB", True)
            else:
                assert scene.payments(found) == [25]


def test_a_rate_limit_tells_how_long_to_wait(scene: Scene) -> None:
    with pytest.raises(ChainUnavailableError) as caught:
        scene.look(FAULTS["rate limit"])
    assert caught.value.retry_after == 7


def test_an_answer_of_ten_megabytes_is_still_the_truth(scene: Scene) -> None:
    def padded(target: str, answer: Answer) -> Answer:
        return Answer(answer.body + b" " * 10 * MEGABYTE)

    assert scene.look(padded) == [25]


def test_a_field_of_nonsense_is_refused_or_does_not_matter(scene: Scene) -> None:
    chance = random.Random(7)
    refused = 0
    for _ in range(MUTATIONS):
        healthy = chance.randrange(scene.all_requests)
        mutation = after(healthy, with_nonsense(chance), only_once=True)
        try:
            with scene.opened() as adapter:
                found = scene.read(adapter, mutation)
        except ChainError:
            refused += 1
        else:
            for transfer in found:
                assert type(transfer.units) is int
                assert transfer.units > 0
                assert transfer.recipient_key == scene.wallet.key
    assert refused


def with_nonsense(chance: random.Random) -> Fault:
    """Put nonsense into one place of the answer."""

    def fault(target: str, answer: Answer) -> Answer:
        document = [json.loads(answer.body)]
        container, key = chance.choice(list(places(document)))
        container[key] = chance.choice(NONSENSE)
        return Answer(json.dumps(document[0]).encode())

    return fault


def places(container: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a document in which a value stands."""
    keys = container if isinstance(container, dict) else range(len(container))
    for key in list(keys):
        yield container, key
        if isinstance(container[key], dict | list):
            yield from places(container[key])


def test_a_request_that_fails_alone_is_not_half_of_an_answer(scene: Scene) -> None:
    for healthy in range(scene.requests):
        with pytest.raises(ChainError):
            scene.look(after(healthy, FAULTS["nothing"], only_once=True))


def test_what_is_asked_about_other_tokens_alone_may_fail_alone_and_is_asked_again(scene: Scene) -> None:
    """A chain that is read block by block tells of them with the payments, and asks nothing about them alone."""
    for healthy in range(scene.requests, scene.all_requests):
        with scene.opened() as adapter:
            found = scene.read(adapter, after(healthy, FAULTS["nothing"], only_once=True))
            assert [one.units for one in found] == [25]
            found = scene.read(adapter, honest)
            assert [one.units for one in found] == [25, 9]
    assert (scene.all_requests > scene.requests) is isinstance(scene.lab, AccountLab)


@pytest.mark.parametrize("lab", ["solana", "ton"], indirect=True)
@pytest.mark.parametrize("kind", KINDS)
def test_no_failure_about_other_tokens_stops_payments(scene: Scene, kind: str) -> None:
    """Where blocks are read, nothing is asked about other tokens alone: see the test before."""
    for name, fault in KINDS[kind].items():
        with case(name):
            for healthy in range(scene.requests, scene.all_requests):
                assert scene.look(after(healthy, fault)) == [25]
