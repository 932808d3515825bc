"""A fake of TronGrid's REST interface, built from an anvil's blocks and logs.

It is a fake because TronGrid is a hosted service: there is nothing to install. Paths, fields and limits follow its
documentation and java-tron's HTTP interface, which it passes on: https://developers.tron.network/reference.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from localnet.abi import topic
from localnet.anvil import Anvil
from localnet.tron.addresses import to_base58, to_hex
from localnet.tron.jsonrpc import JsonRpc
from localnet.tron.rules import Rules
from localnet.tron.transactions import InvalidTransactionError, Mempool

TRANSFER = topic("Transfer(address,address,uint256)")
APPROVAL = topic("Approval(address,address,uint256)")
MOST_ROWS, USUAL_ROWS = 200, 20
_KINDS = {TRANSFER: "Transfer", APPROVAL: "Approval"}


class BadRequestError(Exception):
    """TronGrid answers with HTTP status 400."""


class Grid:
    """Answers GET requests below `/v1` and POST requests to `/wallet` and `/walletsolidity`."""

    def __init__(self, anvil: Anvil, node: JsonRpc, rules: Rules) -> None:
        self._anvil = anvil
        self._node = node
        self._rules = rules
        self._mempool = Mempool(anvil)

    def get(self, path: str, query: Mapping[str, str]) -> Any:
        """The JSON at a path. Raises BadRequestError."""
        match path.strip("/").split("/"):
            case ["v1", "accounts", address, "transactions", "trc20"]:
                return self._history(_key_of(address), query)
            case _:
                raise BadRequestError(f"no such path: {path}")

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The JSON answered to a document. Raises BadRequestError."""
        match path.strip("/").split("/"):
            case ["wallet" | "walletsolidity" as view, "gettransactioninfobyid"]:
                return self._transaction(body["value"], newest=self._newest(view))
            case ["wallet" | "walletsolidity" as view, "getblock"]:
                return self._block(int(body["id_or_num"]), newest=self._newest(view))
            case ["wallet", "broadcasthex"]:
                return self._broadcast(bytes.fromhex(body["transaction"]))
            case _:
                raise BadRequestError(f"no such path: {path}")

    def _broadcast(self, transaction: bytes) -> Any:
        try:
            if self._rules.broadcast_code:
                raise InvalidTransactionError(self._rules.broadcast_code)
            tx_id = self._mempool.take(transaction)
        except InvalidTransactionError as error:
            return {"result": False, "code": str(error), "message": "refused"}
        return {"result": True, "code": "SUCCESS", "message": "", "txid": tx_id}

    def _newest(self, view: str) -> int:
        is_solid = view == "walletsolidity"
        return self._node.solidified() if is_solid else self._anvil.block_number()

    def _history(self, key: str, query: Mapping[str, str]) -> Any:
        limit = int(query.get("limit", USUAL_ROWS))
        if not 1 <= limit <= MOST_ROWS:
            raise BadRequestError("limit must be from 1 to 200")
        rows = self._rows(key, query)
        start = _place(query.get("fingerprint"))
        page = rows[start : start + limit]
        meta: dict[str, Any] = {"at": 0, "page_size": len(page)}
        if start + limit < len(rows):
            meta["fingerprint"] = _fingerprint(start + limit)
        return {"data": page, "success": True, "meta": meta}

    def _rows(self, key: str, query: Mapping[str, str]) -> list[dict[str, Any]]:
        confirmed = query.get("only_confirmed") == "true"
        newest = self._newest("walletsolidity" if confirmed else "wallet")
        logs = self._logs_of(key, newest, only_to=query.get("only_to") == "true")
        contract = query.get("contract_address")
        rows = [_row(log) for log in logs]
        chosen = [
            row
            for row in rows
            if contract in {None, row["token_info"]["address"]}
            and int(query.get("min_timestamp", 0)) <= row["block_timestamp"]
            and row["block_timestamp"] <= int(query.get("max_timestamp", 2**62))
        ]
        is_oldest_first = query.get("order_by", "").endswith(",asc")
        return chosen if is_oldest_first else chosen[::-1]

    def _logs_of(self, key: str, newest: int, *, only_to: bool) -> list[Any]:
        padded = f"0x{key[2:]:0>64}"
        topics: list[list[Any]] = [[list(_KINDS), None, padded]]
        topics += [] if only_to else [[list(_KINDS), padded]]
        blocks = {"fromBlock": "0x0", "toBlock": hex(newest)}
        found = [log for one in topics for log in self._anvil.rpc("eth_getLogs", blocks | {"topics": one})]
        by_place = {(int(log["blockNumber"], 16), int(log["logIndex"], 16)): log for log in found}
        return [by_place[place] for place in sorted(by_place)]

    def _transaction(self, tx_id: str, *, newest: int) -> Any:
        receipt = self._anvil.rpc("eth_getTransactionReceipt", f"0x{tx_id}")
        if receipt is None or int(receipt["blockNumber"], 16) > newest:
            return {}
        height = int(receipt["blockNumber"], 16)
        is_good = receipt["status"] == "0x1"
        told: dict[str, Any] = {
            "id": tx_id,
            "fee": 27_000_000,
            "blockNumber": height,
            "blockTimeStamp": _milliseconds(self._anvil.block(height)),
            "contractResult": ["00" * 32],
            "contract_address": _prefixed(receipt["to"] or receipt["contractAddress"]),
            "receipt": {
                # What the payer had staked for pays a part, and is not part of the fee.
                "energy_usage": 12,
                "energy_fee": 27_000_000,
                "energy_usage_total": int(receipt["gasUsed"], 16),
                "energy_penalty_total": 35_245,
                "net_usage": 345,
                "result": "SUCCESS" if is_good else "REVERT",
            },
        }
        if not is_good:
            told |= {"result": "FAILED"}
        if receipt["logs"]:
            told["log"] = [_bare(log) for log in receipt["logs"]]
        return told

    def _block(self, height: int, *, newest: int) -> Any:
        if height > newest:
            return {}
        block = self._anvil.block(height)
        raw = {"number": height, "parentHash": block["parentHash"][2:], "timestamp": _milliseconds(block)}
        return {"blockID": block["hash"][2:], "block_header": {"raw_data": raw}}


def _key_of(address: str) -> str:
    try:
        return to_hex(address)
    except ValueError:
        raise BadRequestError("Invalid address provided") from None


def _row(log: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the listing: it has neither the block's height nor the log's place in its transaction."""
    sender, recipient = (f"0x{word[-40:]}" for word in log["topics"][1:3])
    return {
        "transaction_id": log["transactionHash"][2:],
        "token_info": {
            # Whatever the contract says of itself.
            "symbol": "USDT",
            "address": to_base58(log["address"]),
            "decimals": 6,
            "name": "Tether USD",
        },
        "block_timestamp": int(log["blockTimestamp"], 16) * 1000,
        "from": to_base58(sender),
        "to": to_base58(recipient),
        "type": _KINDS[log["topics"][0]],
        "value": str(int(log["data"], 16)),
    }


def _bare(log: Mapping[str, Any]) -> dict[str, Any]:
    """A log without Tron's prefix and without 0x."""
    return {"address": log["address"][2:], "topics": [word[2:] for word in log["topics"]], "data": log["data"][2:]}


def _prefixed(address: str) -> str:
    return f"41{address[2:]}"


def _milliseconds(block: Mapping[str, Any]) -> int:
    return int(block["timestamp"], 16) * 1000


def _fingerprint(place: int) -> str:
    return base64.urlsafe_b64encode(f"row {place}".encode()).decode()


def _place(fingerprint: str | None) -> int:
    if fingerprint is None:
        return 0
    try:
        return int(base64.urlsafe_b64decode(fingerprint).decode().removeprefix("row "))
    except (ValueError, binascii.Error):
        raise BadRequestError("Unable to find the given fingerprint") from None
