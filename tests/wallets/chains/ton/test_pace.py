"""The public toncenter node is asked once a second where there is no key."""

import pytest

from demo.localnet.ton.node import TonNode
from wallets.chains.base import ChainUnavailableError
from wallets.chains.ton.family import PAUSE_SECONDS, PacedNode, open_node


def test_without_a_key_the_public_node_is_asked_once_a_second(ton_node: TonNode) -> None:
    now, slept = [100.0], []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    node = PacedNode(ton_node.url, clock=lambda: now[0], sleep=sleep)
    for _ in range(3):
        node.get("masterchainInfo")
    now[0] += 10
    ton_node.limit_rate(1)
    with pytest.raises(ChainUnavailableError):
        node.get("masterchainInfo")
    node.get("masterchainInfo")
    assert slept == pytest.approx([PAUSE_SECONDS] * 3)
    node.close()


@pytest.mark.parametrize(
    ("url", "key", "is_paced"),
    [
        ("https://toncenter.com/api/v3", "", True),
        ("https://testnet.toncenter.com/api/v3", "", True),
        ("https://toncenter.com/api/v3", "key", False),
        ("https://ton.example.com/api/v3", "", False),
        ("https://nottoncenter.com/api/v3", "", False),
    ],
)
def test_only_the_public_node_without_a_key_is_paced(url: str, key: str, is_paced: bool) -> None:
    node = open_node(url, headers={"X-API-Key": key} if key else {})
    assert isinstance(node, PacedNode) == is_paced
