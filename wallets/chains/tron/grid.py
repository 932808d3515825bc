"""TronGrid's REST interface as a second source beside Tron's JSON-RPC.

Its listing of an account's transfers has neither the block nor a transfer's position in its transaction, so two equal
transfers of one transaction look the same. So the listing only selects the transactions to read; the transfers are read
from their logs. Fields: https://developers.tron.network/reference.
"""

from collections.abc import Collection, Iterator
from datetime import timedelta
from typing import Final
from urllib.parse import urlsplit

from wallets.chains.base import BlockRef, ChainMismatchError, MalformedAnswerError, RangeTooLargeError, TokenTransfer
from wallets.chains.rpc.client import Node
from wallets.chains.specs import ChainSpec, TokenSpec
from wallets.chains.tron import grid_decode as decode
from wallets.chains.tron.dialect import KEY_HEADER, TRON, write_address
from wallets.chains.tron.grid_decode import Log, Transaction

ROWS_IN_A_PAGE: Final = 200
MOST_PAGES: Final = 50
# A listing may report a neighbouring block for a transfer.
_MARGIN: Final = timedelta(seconds=10)


class TronGridSource:
    """A TronGrid, which lists wallets' incoming transfers. It knows only solidified blocks."""

    def __init__(self, spec: ChainSpec, url: str) -> None:
        """Keep `url`, the prefix of its paths; it gets the key of the node on the same host."""
        self._spec = spec
        self._node = open_node(spec, url)
        self._tokens = {TRON.contract(t.address): t for t in spec.accepted_tokens}

    @property
    def label(self) -> str:
        """Return scheme, host and port."""
        return self._node.label

    @property
    def requests(self) -> int:
        """Return how many requests were sent so far."""
        return self._node.requests

    def transfers(self, keys: Collection[bytes], first: BlockRef, last: BlockRef) -> list[TokenTransfer]:
        """Return every transfer of an accepted token to these recipients (20 bytes) in the blocks `first` to `last`.

        They equal the JSON-RPC adapter's. Costs a request for each recipient and token, for each transaction and for each
        block with one. Raises ChainMismatchError if its own block at that height is not `last`, ChainUnavailableError if
        `last` is not solidified yet, and other ChainErrors; never returns a part.
        """
        if self._block(last.height).hash != last.hash:
            raise ChainMismatchError(f"{self.label} has another block at {last.height} than we read")
        ids = {
            tx_id: None
            for key in keys
            for token in self._spec.accepted_tokens
            for tx_id in self._listed(key, token, first, last)
        }
        found = [self._transaction(tx_id) for tx_id in ids]
        inside = [tx for tx in found if first.height <= tx.height <= last.height]
        return list(self._arrivals(inside, frozenset(keys)))

    def close(self) -> None:
        """Close the connection."""
        self._node.close()

    def _listed(self, key: bytes, token: TokenSpec, first: BlockRef, last: BlockRef) -> Iterator[str]:
        """Return the ids of transactions that moved a token to an account in about this time."""
        path = f"v1/accounts/{write_address(key)}/transactions/trc20"
        query = [
            ("only_to", "true"),
            ("only_confirmed", "true"),
            ("limit", str(ROWS_IN_A_PAGE)),
            ("contract_address", token.address),
            ("min_timestamp", decode.milliseconds(first.time - _MARGIN)),
            ("max_timestamp", decode.milliseconds(last.time + _MARGIN)),
            # New transfers come after those already read.
            ("order_by", "block_timestamp,asc"),
        ]
        fingerprint = ""
        for _ in range(MOST_PAGES):
            cursor = [("fingerprint", fingerprint)] if fingerprint else []
            page = decode.page(self._node.get(path, query + cursor))
            yield from page.tx_ids
            if not page.fingerprint:
                return
            if page.fingerprint == fingerprint:
                raise MalformedAnswerError(f"{self.label} repeats a page")
            fingerprint = page.fingerprint
        raise RangeTooLargeError(f"{self.label} lists too many transfers of one wallet")

    def _transaction(self, tx_id: str) -> Transaction:
        answer = self._node.post("walletsolidity/gettransactioninfobyid", {"value": tx_id})
        return decode.transaction(answer, tx_id=tx_id, tokens=self._tokens)

    def _block(self, height: int) -> BlockRef:
        question = {"id_or_num": str(height), "detail": False}
        answer = self._node.post("walletsolidity/getblock", question)
        return decode.block_ref(answer, height=height)

    def _arrivals(self, transactions: Collection[Transaction], keys: frozenset[bytes]) -> Iterator[TokenTransfer]:
        wanted = [
            (transaction, log)
            for transaction in transactions
            for log in transaction.logs
            if log.recipient in keys and log.units > 0 and log.sender != log.recipient
        ]
        heights = sorted({transaction.height for transaction, _ in wanted})
        blocks = {height: self._block(height) for height in heights}
        for transaction, log in wanted:
            yield self._transfer(transaction, log, blocks[transaction.height])

    def _transfer(self, transaction: Transaction, log: Log, block: BlockRef) -> TokenTransfer:
        token = self._tokens[log.token]
        return TokenTransfer(
            chain=self._spec.name,
            tx_hash=transaction.tx_id,
            position=log.position,
            token=token.symbol,
            token_address=token.address,
            units=log.units,
            sender=write_address(log.sender),
            recipient_key=log.recipient,
            recipient=write_address(log.recipient),
            block_height=block.height,
            block_hash=block.hash,
            block_time=block.time,
            sender_key=log.sender if any(log.sender) else b"",
        )


def open_node(spec: ChainSpec, url: str) -> Node:
    """Return a TronGrid for the prefix of its paths, without asking it."""
    return Node(url, headers=_key_header(spec, url))


def _key_header(spec: ChainSpec, url: str) -> dict[str, str]:
    """Return the header with the key, unless it is another provider's."""
    host = urlsplit(url).hostname
    keys = zip(spec.rpc_urls, spec.api_keys, strict=False)
    mine = [key for node, key in keys if key and urlsplit(node).hostname == host]
    return {KEY_HEADER: mine[0]} if mine else {}
