"""A wallet on an EVM chain: one key, one token, over the node's JSON-RPC. Needs the extra `evm`."""

import itertools
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from eth_account import Account
from eth_account.messages import encode_defunct

from florin_x402.payer import PaymentWanted
from florin_x402.transport import Transport, TransportError

_TRANSFER: Final = "a9059cbb"  # transfer(address,uint256)
_DECIMALS: Final = "0x313ce567"  # decimals()
_GAS: Final = 120_000
_TIP: Final = 1_000_000_000
_ADDRESS_LENGTH: Final = 42
_POLL_SECONDS: Final = 0.5


class WalletError(Exception):
    """A node refused a request, or the transfer failed."""


@dataclass(frozen=True)
class EvmWallet:
    """Pays with the token at `contract`, which it calls `token`, on the chain that `network` names.

    `rpc_url` is a node's JSON-RPC. `decimals` are those that the contract counts in: 6 on most chains, 18 on BNB Smart Chain. The contract is
    asked before each payment, and nothing is sent where it says otherwise. Fees are what the node suggests, and at most `most_gwei` for a
    unit of gas. `signs` has proofs signed, which binds them to this wallet. Calls of one wallet must not overlap: both would take the
    same nonce.
    """

    key: str = field(repr=False)
    rpc_url: str = field(repr=False)
    chain_id: int
    network: str
    token: str
    contract: str
    decimals: int = 6
    signs: bool = True
    most_gwei: int = 500
    seconds: float = 180.0

    @property
    def address(self) -> str:
        """The address that pays."""
        return str(Account.from_key(self.key).address)

    def can_pay(self, wanted: PaymentWanted) -> bool:
        """Whether it holds this token on this network."""
        return (wanted.network, wanted.token) == (self.network, self.token)

    def sign(self, message: str) -> str:
        """Sign a message by EIP-191."""
        if not self.signs:
            return ""
        signed = Account.sign_message(encode_defunct(text=message), self.key)
        return f"0x{signed.signature.hex().removeprefix('0x')}"

    def pay(self, wanted: PaymentWanted, *, sent: Callable[[str], None]) -> str:
        """Send the transfer and wait until it is in a block. Raises WalletError."""
        node = _Node(self.rpc_url, seconds=self.seconds)
        try:
            signed = Account.sign_transaction(self._transaction(node, wanted), self.key)
            tx_hash = f"0x{signed.hash.hex().removeprefix('0x')}"
            sent(tx_hash)
            raw = f"0x{signed.raw_transaction.hex().removeprefix('0x')}"
            node.broadcast(raw)
            self._await(node, tx_hash)
        finally:
            node.close()
        return tx_hash

    def _transaction(self, node: "_Node", wanted: PaymentWanted) -> dict[str, Any]:
        if node.number("eth_chainId") != self.chain_id:
            raise WalletError("The node is on another chain.")
        counted = node.number("eth_call", {"to": self.contract, "data": _DECIMALS}, "latest")
        if counted != self.decimals:
            # Never taken over from the node: one that lies would make the wallet pay a multiple of the price.
            raise WalletError(
                f"The token's contract counts in {counted} decimals. If that is right, set decimals={counted}."
            )
        price = node.number("eth_gasPrice")
        if price > self.most_gwei * 10**9:
            raise WalletError("Gas is too dear at the moment.")
        # Twice the current price lasts for six full blocks.
        most = min(2 * price + _TIP, self.most_gwei * 10**9)
        return {
            "type": 2,
            "chainId": self.chain_id,
            "nonce": node.number("eth_getTransactionCount", self.address, "pending"),
            "to": self.contract,
            "value": 0,
            "data": _transfer_data(wanted, self.decimals),
            "gas": _GAS,
            "maxFeePerGas": most,
            "maxPriorityFeePerGas": min(_TIP, most),
        }

    def _await(self, node: "_Node", tx_hash: str) -> None:
        deadline = time.monotonic() + self.seconds
        while time.monotonic() < deadline:
            receipt = node.ask("eth_getTransactionReceipt", tx_hash)
            if isinstance(receipt, dict):
                if receipt.get("status") != "0x1":
                    raise WalletError("The transfer failed on the chain.")
                return
            time.sleep(_POLL_SECONDS)
        raise WalletError("The transfer is in no block yet.")


class _Node:
    """JSON-RPC of one node."""

    def __init__(self, url: str, *, seconds: float) -> None:
        parts = urlsplit(url)
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._transport = Transport(f"{parts.scheme}://{parts.netloc}", seconds=seconds)
        self._ids = itertools.count(1)

    def close(self) -> None:
        self._transport.close()

    def number(self, method: str, *params: object) -> int:
        answer = self.ask(method, *params)
        try:
            return int(str(answer), 16)
        except ValueError:
            raise WalletError(f"The node answered no number to {method}.") from None

    def broadcast(self, raw: str) -> None:
        """Send a signed transaction. "Already known" counts as success."""
        try:
            self.ask("eth_sendRawTransaction", raw)
        except WalletError as error:
            if "already known" not in str(error).lower():
                raise

    def ask(self, method: str, *params: object) -> object:
        told = {"jsonrpc": "2.0", "id": next(self._ids), "method": method}
        body = json.dumps(told | {"params": params}).encode()
        headers = {"Content-Type": "application/json"}
        try:
            reply = self._transport.exchange("POST", self._path, headers=headers, body=body)
            answer = json.loads(reply.body)
        except (TransportError, ValueError, RecursionError) as error:
            raise WalletError(f"The node does not answer to {method}.") from error
        if not isinstance(answer, dict) or "error" in answer:
            told_error = answer.get("error") if isinstance(answer, dict) else None
            raise WalletError(f"The node refused {method}: {str(told_error)[:200]}")
        return answer.get("result")


def _transfer_data(wanted: PaymentWanted, decimals: int) -> str:
    units = wanted.amount.scaleb(decimals)
    if units != units.to_integral_value():
        raise WalletError("The price has more decimals than the token.")
    recipient = wanted.pay_to.lower()
    digits = recipient.removeprefix("0x")
    if len(recipient) != _ADDRESS_LENGTH or len(digits) != _ADDRESS_LENGTH - 2:
        raise WalletError("payTo is no address on this chain.")
    try:
        key = bytes.fromhex(digits)
    except ValueError:
        raise WalletError("payTo is no address on this chain.") from None
    return f"0x{_TRANSFER}{key.rjust(32, bytes(1)).hex()}{int(units):064x}"
