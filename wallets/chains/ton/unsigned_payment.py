"""Builds the message that pays on TON, a jetton transfer (TEP-74), for the payer's wallet to sign by TON Connect."""

import base64
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from wallets.chains.base import MalformedAnswerError
from wallets.chains.family import (
    ChainSpec,
    Network,
    NotEnoughError,
    PaymentOrder,
    PreparedPayment,
    TransactionRefusedError,
)
from wallets.chains.rpc.client import Node
from wallets.chains.rpc.pool import RpcPool
from wallets.chains.ton import decode
from wallets.chains.ton.address import address_key
from wallets.chains.ton.questions import written_address

if TYPE_CHECKING:
    from tonsdk.boc import Cell

VALID_FOR: Final = timedelta(minutes=5)
"""How long a payer has to sign, and a wallet's contract takes the message."""

UNDER_WAY: Final = timedelta(minutes=2)
"""How long the wallet's message may still be under way to its jetton wallet; shards pass one on within seconds, longer when they are full."""

ATTACHED_NANOTONS: Final = 50_000_000
"""Coin that goes with the message: a transfer to an owner without a jetton wallet costs less, and the rest comes back."""

MOST_MESSAGES: Final = 254
"""How many messages the largest wallets (W5) send at once. Others say less, and v4 sends four."""

_WALLETS_PATH: Final = "jetton/wallets"
_OP_TRANSFER: Final = 0x0F8A7EA5
_OP_TEXT: Final = bytes(4)
# The recipient's wallet is notified, so that it lists the text.
_FORWARD_NANOTONS: Final = 1

NETWORKS: Final = {Network.MAINNET: "-239", Network.TESTNET: "-3", Network.LOCAL: "-3"}
"""The networks as TON Connect names them; a local chain passes for the test network."""


class TonCashier:
    """Prepares payments. Not thread-safe. Those of one wallet cost one request."""

    def __init__(self, spec: ChainSpec, pool: RpcPool) -> None:
        self._network = NETWORKS[spec.network]
        self._is_testnet = spec.network is Network.TESTNET
        self._pool = pool

    def prepare_payments(
        self, orders: Sequence[PaymentOrder], *, now: datetime, until: datetime
    ) -> list[PreparedPayment]:
        """Return TON Connect's requests of one message each, which a wallet may begin within five minutes and not past `until`.

        As many of the first orders as the balance covers. Raises ChainError, and NotEnoughError.
        """
        owner, master = address_key(orders[0].payer), address_key(orders[0].token.address)
        wallet, held = self._pool.run(lambda node: _jetton_wallet(node, owner, master))
        sums = accumulate(order.units for order in orders)
        covered = [order for order, due in zip(orders, sums, strict=True) if due <= held]
        if not covered:
            raise NotEnoughError
        ends = min(until, now + VALID_FOR).replace(microsecond=0)
        request = {"valid_until": int(ends.timestamp()), "network": self._network, "from": _raw(owner)}
        messages = [self._message(wallet, order) for order in covered]
        return [PreparedPayment({**request, "messages": [one]}, valid_until=ends + UNDER_WAY) for one in messages]

    def _message(self, wallet: bytes, order: PaymentOrder) -> dict[str, str]:
        payload = bytes(transfer_body(order).to_boc(False))
        return {
            "address": written_address(wallet, is_testnet=self._is_testnet),
            "amount": str(ATTACHED_NANOTONS),
            "payload": base64.b64encode(payload).decode(),
        }

    def send(self, raw: bytes, signature: bytes) -> None:
        """Raise TransactionRefusedError: wallets on TON send their own messages."""
        raise TransactionRefusedError("the wallet sends it")

    def passed(self, last_height: int) -> datetime | None:
        """Raise NotImplementedError: its payments end by the blocks' time."""
        raise NotImplementedError


def joined_requests(requests: Sequence[Any]) -> dict[str, Any]:
    """Return requests of one wallet that end at one moment as one: a wallet signs all messages, and each has its own result."""
    messages = [message for request in requests for message in request["messages"]]
    return {**requests[0], "messages": messages}


def transfer_body(order: PaymentOrder) -> "Cell":
    """Return the body of a transfer whose text is the order's memo; what coin is left returns to the payer."""
    # Slow to import, and needed only when a person presses a button.
    from tonsdk.boc import Cell
    from tonsdk.utils import Address

    payer, recipient = Address(order.payer), Address(order.recipient)
    text = Cell()
    text.bits.write_bytes(_OP_TEXT + order.memo.encode())
    body = Cell()
    body.bits.write_uint(_OP_TRANSFER, 32)
    body.bits.write_uint(0, 64)
    body.bits.write_grams(order.units)
    body.bits.write_address(recipient)
    body.bits.write_address(payer)
    body.bits.write_bit(0)
    body.bits.write_grams(_FORWARD_NANOTONS)
    body.bits.write_bit(1)
    body.refs.append(text)
    return body


def _jetton_wallet(node: Node, owner: bytes, master: bytes) -> tuple[bytes, int]:
    """Return an owner's jetton wallet and its balance. Raises NotEnoughError if there is none."""
    query = [("owner_address", written_address(owner)), ("jetton_address", written_address(master)), ("limit", "2")]
    rows = decode.rows(node.get(_WALLETS_PATH, query), "jetton_wallets")
    if not rows:
        raise NotEnoughError
    [row] = rows[:1]
    wallet, its_owner, its_master = decode.jetton_wallet(row)
    if (its_owner, its_master) != (owner, master) or len(rows) > 1:
        raise MalformedAnswerError(f"{node.label} lists a stranger's wallet, or two of one owner")
    return wallet, decode.amount(decode.mapping(row).get("balance"))


def _raw(key: bytes) -> str:
    return f"{int.from_bytes(key[:1], signed=True)}:{key[1:].hex()}"
