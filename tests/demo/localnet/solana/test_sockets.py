"""The local chain's WebSocket: which transactions it pushes, and when."""

import json
from collections.abc import Iterator

import pytest
from solders.keypair import Keypair
from websockets.sync.client import connect
from websockets.sync.connection import Connection

from demo.localnet.solana.node import SolanaNode

SECONDS = 20


@pytest.fixture
def socket(solana_node: SolanaNode) -> Iterator[Connection]:
    with connect(solana_node.ws_url()) as socket:
        yield socket


def follow(socket: Connection, account: str) -> int:
    """Subscribe to what names an account; return the subscription's number."""
    params = [{"mentions": [account]}, {"commitment": "confirmed"}]
    call = {"jsonrpc": "2.0", "id": 5, "method": "logsSubscribe", "params": params}
    socket.send(json.dumps(call))
    answer = json.loads(socket.recv(timeout=SECONDS))
    assert answer["id"] == 5
    number: int = answer["result"]
    return number


def pushed(socket: Connection) -> tuple[int, str]:
    """Return the next notice's subscription, and its transaction."""
    notice = json.loads(socket.recv(timeout=SECONDS))
    assert notice["method"] == "logsNotification"
    params = notice["params"]
    return params["subscription"], params["result"]["value"]["signature"]


def test_only_what_names_the_account_is_pushed(solana_node: SolanaNode, socket: Connection) -> None:
    ours, other = str(Keypair().pubkey()), str(Keypair().pubkey())
    number = follow(socket, ours)
    solana_node.pay(other, 1)
    first = solana_node.pay(other, 2, references=[ours])
    second = solana_node.pay(other, 3, references=[ours])
    assert {pushed(socket), pushed(socket)} == {(number, first), (number, second)}


def test_a_transaction_is_pushed_once_confirmed_and_not_again(solana_node: SolanaNode, socket: Connection) -> None:
    payer = str(solana_node.payer.pubkey())
    number = follow(socket, payer)
    signature = solana_node.pay_unconfirmed(str(Keypair().pubkey()), 5)
    solana_node.advance()
    assert pushed(socket) == (number, signature)
    with pytest.raises(TimeoutError):
        socket.recv(timeout=0.5)
