"""Balances on TON, from toncenter's index, which reads jetton wallets after each of their transactions."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from wallets.chains.base import Holdings, MalformedAnswerError
from wallets.chains.rpc.client import Node
from wallets.chains.rpc.pool import RpcPool
from wallets.chains.specs import ChainSpec, TokenSpec
from wallets.chains.ton import decode
from wallets.chains.ton.address import address_key
from wallets.chains.ton.questions import AT_ONCE, PAGE, ask_head, written_address

_PATH: Final = "jetton/wallets"


class TonHoldings:
    """Reads balances on TON through a pool of toncenter nodes."""

    def __init__(self, spec: ChainSpec, pool: RpcPool) -> None:
        self._tokens: Sequence[TokenSpec] = spec.accepted_tokens
        self._pool = pool

    @property
    def at_once(self) -> int:
        """Return the number of accounts that one request can name."""
        return AT_ONCE

    def read(self, accounts: Mapping[bytes, str]) -> Holdings:
        """Read all jetton wallets. Raises ChainError."""
        return self._pool.run(lambda node: self._read(node, list(accounts)))

    def _read(self, node: Node, keys: Sequence[bytes]) -> Holdings:
        # Read before the balances: they are of this block or a later one.
        height = ask_head(node).height
        units: dict[bytes, dict[str, int]] = {key: {} for key in keys}
        for token in self._tokens:
            master = address_key(token.address)
            held = _held(node, keys, master)
            for key in keys:
                units[key][token.symbol] = held.get(key, 0)
        return Holdings(height, units)


def _held(node: Node, owners: Collection[bytes], master: bytes) -> Mapping[bytes, int]:
    found: dict[bytes, int] = {}
    ordered = sorted(owners)
    for start in range(0, len(ordered), AT_ONCE):
        query = [("owner_address", written_address(owner)) for owner in ordered[start : start + AT_ONCE]]
        query += [("jetton_address", written_address(master)), ("limit", str(PAGE))]
        answer = node.get(_PATH, query)
        for row in decode.rows(answer, "jetton_wallets"):
            _, owner, its_master = decode.jetton_wallet(row)
            if its_master != master or owner not in owners:
                raise MalformedAnswerError(f"{node.label} lists a stranger's wallet")
            if owner in found:
                raise MalformedAnswerError(f"{node.label} gives an owner two wallets")
            found[owner] = decode.amount(decode.mapping(row).get("balance"))
    return found
