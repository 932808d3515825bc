"""java-tron's `/jsonrpc`: its limits, its tags, and how it words what it refuses.

The words are those of java-tron 4.8 (JsonRpcApiUtil, LogFilter, LogFilterWrapper, LogMatch, JsonRpcServlet).
"""

import re
from collections.abc import Mapping
from typing import Any

from localnet.anvil import Anvil
from localnet.errors import NodeError
from localnet.tron.rules import Rules

INVALID_PARAMS, INVALID_REQUEST, NO_METHOD = -32602, -32600, -32601
SERVER_ERROR, LIMIT_EXCEEDED = -32000, -32005
_ADDRESS = re.compile(r"0x(41)?[0-9a-fA-F]{40}")
_REFUSED_TAGS = {"pending", "safe"}
# Transactions of Tron are protobuf messages and go elsewhere.
_MISSING = {"eth_sendRawTransaction", "eth_sendTransaction", "eth_getTransactionCount"}


class RefusalError(Exception):
    """The request is refused, by an error of JSON-RPC."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class JsonRpc:
    """Answers requests from an anvil."""

    def __init__(self, anvil: Anvil, rules: Rules) -> None:
        self._anvil = anvil
        self._rules = rules

    def answer(self, request: Any) -> Any:
        """The answer to one request, or to a batch of them."""
        if not isinstance(request, list):
            return self._answer_one(request)
        if not self._rules.takes_batches:
            return _error(None, INVALID_REQUEST, "Invalid Request")
        most = self._rules.most_in_batch
        if len(request) > most:
            told = f"Batch size {len(request)} exceeds the limit of {most}"
            return _error(None, LIMIT_EXCEEDED, told)
        return [self._answer_one(one) for one in request]

    def solidified(self) -> int:
        """The height of the newest solidified block."""
        return max(self._anvil.block_number() - self._rules.solidified_lag, 0)

    def _answer_one(self, request: Mapping[str, Any]) -> Any:
        number, method = request["id"], request["method"]
        try:
            result = self._result(method, list(request.get("params", [])))
        except RefusalError as error:
            return _error(number, error.code, str(error))
        except NodeError as error:
            return _error(number, SERVER_ERROR, error.message)
        return {"jsonrpc": "2.0", "id": number, "result": result}

    def _result(self, method: str, params: list[Any]) -> Any:
        if method in _MISSING:
            told = f"the method {method} does not exist/is not available"
            raise RefusalError(NO_METHOD, told)
        if method == "eth_getLogs":
            return self._logs(params[0])
        if method == "eth_getBlockByNumber":
            params[0] = self._height(params[0])
        if method == "eth_getTransactionByHash":
            return self._transaction(params)
        if method == "eth_call" and params[1:] != ["latest"]:
            told = "QUANTITY not supported, just support TAG as latest"
            raise RefusalError(INVALID_PARAMS, told)
        told = self._anvil.call(method, params)
        # java-tron keeps no filter of a block's logs.
        is_block = method.startswith("eth_getBlockBy") and told
        return told | {"logsBloom": f"0x{'00' * 256}"} if is_block else told

    def _transaction(self, params: list[Any]) -> Any:
        """java-tron knows what is in a block, and no nonces."""
        told = self._anvil.call("eth_getTransactionByHash", params)
        if told is None or told["blockHash"] is None:
            return None
        return told | {"nonce": None}

    def _height(self, tag: str) -> str:
        if tag in _REFUSED_TAGS:
            raise RefusalError(INVALID_PARAMS, f"TAG {tag} not supported")
        if tag == "finalized":
            if not self._rules.knows_finalized:
                raise RefusalError(INVALID_PARAMS, "invalid block number")
            return hex(self.solidified())
        return tag

    def _logs(self, question: dict[str, Any]) -> Any:
        _check_addresses(question.get("address", []))
        for alternatives in question.get("topics", []):
            most = self._rules.most_topics
            if isinstance(alternatives, list) and len(alternatives) > most:
                raise RefusalError(INVALID_PARAMS, f"exceed max topics: {most}")
        if "blockHash" in question:
            self._check_block(question["blockHash"])
        else:
            question = question | self._range(question)
        logs = self._anvil.call("eth_getLogs", [question])
        if len(logs) > self._rules.most_results:
            told = f"query returned more than {self._rules.most_results} results"
            raise RefusalError(LIMIT_EXCEEDED, told)
        return logs

    def _check_block(self, block_hash: str) -> None:
        if self._anvil.call("eth_getBlockByHash", [block_hash, False]) is None:
            raise RefusalError(INVALID_PARAMS, "invalid blockHash")

    def _range(self, question: Mapping[str, str]) -> dict[str, str]:
        head = hex(self._anvil.block_number())
        ends = [head if end == "latest" else self._height(end) for end in (question["fromBlock"], question["toBlock"])]
        first, last = (int(end, 16) for end in ends)
        if first > last:
            raise RefusalError(INVALID_PARAMS, "please verify: fromBlock <= toBlock")
        if min(last, int(head, 16)) - first > self._rules.most_blocks:
            told = f"exceed max block range: {self._rules.most_blocks}"
            raise RefusalError(INVALID_PARAMS, told)
        return {"fromBlock": ends[0], "toBlock": ends[1]}


def _check_addresses(addresses: str | list[str]) -> None:
    listed = addresses if isinstance(addresses, list) else [addresses]
    for index, address in enumerate(listed):
        if not _ADDRESS.fullmatch(address):
            told = f"invalid address at index {index}: {address}"
            raise RefusalError(INVALID_PARAMS, told)


def _error(number: Any, code: int, message: str) -> dict[str, Any]:
    error = {"code": code, "message": message}
    return {"jsonrpc": "2.0", "id": number, "error": error}
