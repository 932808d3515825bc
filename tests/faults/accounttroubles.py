"""What nodes of Solana and TON do wrong. Each begins when it is asked for by name."""

import json
import threading
from collections.abc import Callable
from typing import Any

from tests.faults.accountchains import AccountChain, SolanaChain, TonChain
from tests.wallets.contract.hostile import Answer, Fault

MEGABYTE = 2**20
CLOCK = "SysvarC1ock11111111111111111111111111111111"
HANGING_SECONDS = 60.0


class Hanging:
    """Lets every question wait until it is released, and then hangs up."""

    def __init__(self) -> None:
        self.released = threading.Event()

    def __call__(self, asked: str, answer: Answer) -> Answer:
        self.released.wait(HANGING_SECONDS)
        raise ConnectionError


class HeldAnswer:
    """Lets each answer to a question with a word in it wait until it is released, and all others pass.

    A watcher gives a silent node up after seconds and asks the other one: that answer waits too. What TON is asked up to
    some time is about payments that were read before, and passes.
    """

    def __init__(self, word: str) -> None:
        self.caught = threading.Event()
        self.released = threading.Event()
        self._word = word

    def __call__(self, asked: str, answer: Answer) -> Answer:
        if self._word in asked and "end_utime" not in asked:
            self.caught.set()
            self.released.wait(HANGING_SECONDS)
        return answer


def drops(asked: str, answer: Answer) -> Answer:
    """Hang up without an answer."""
    raise ConnectionError


def breaks_off(asked: str, answer: Answer) -> Answer:
    """Hang up in the middle of the answer."""
    return Answer(answer.body, cut=len(answer.body) // 2)


def ends_early(asked: str, answer: Answer) -> Answer:
    """Send half of the answer as if it was the whole."""
    return Answer(answer.body[: len(answer.body) // 2])


def answers(body: bytes, **options: Any) -> Fault:
    """Answer everything with these bytes."""
    return lambda asked, answer: Answer(body, **options)


_REFUSAL = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"Node is behind"}}'


def lags(chain: AccountChain) -> Fault:
    """Answer as a node that sees no block after the one that is the newest now."""
    if isinstance(chain, SolanaChain):
        return _solana_lags(chain)
    assert isinstance(chain, TonChain)
    return _ton_lags(chain)


def _solana_lags(chain: SolanaChain) -> Fault:
    options = {"commitment": "confirmed", "encoding": "base64"}
    clock = chain.node.rpc("getAccountInfo", CLOCK, options)
    height = clock["context"]["slot"]

    def change(request: Any, reply: Any) -> Any:
        method, params = request["method"], request["params"]
        options = params[-1] if params and isinstance(params[-1], dict) else {}
        if options.get("minContextSlot", 0) > height:
            error = {"code": -32016, "message": "Minimum context slot"}
            return {"jsonrpc": "2.0", "id": request["id"], "error": error}
        if method == "getAccountInfo" and params[0] == CLOCK:
            return reply | {"result": clock}
        return reply | {"result": _as_of(height, method, reply.get("result"))}

    def fault(asked: str, answer: Answer) -> Answer:
        requests, replies = json.loads(asked), json.loads(answer.body)
        if not isinstance(requests, list):
            return Answer(json.dumps(change(requests, replies)).encode())
        changed = [change(*pair) for pair in zip(requests, replies, strict=True)]
        return Answer(json.dumps(changed).encode())

    return fault


def _as_of(height: int, method: str, result: Any) -> Any:
    """What a Solana node that has reached a slot answers instead."""
    if method == "getSlot":
        return min(result, height)
    if method == "getSignaturesForAddress":
        return [one for one in result if one["slot"] <= height]
    if method == "getTransaction" and result is not None:
        return result if result["slot"] <= height else None
    if method == "getSignatureStatuses":
        known = [one and (one if one["slot"] <= height else None) for one in result["value"]]
        return {"context": {"slot": height}, "value": known}
    return result


def _ton_lags(chain: TonChain) -> Fault:
    newest = chain.node.get("masterchainInfo")["last"]
    height, time = newest["seqno"], int(newest["gen_utime"])
    kept: dict[str, Callable[[Any], bool]] = {
        "blocks": lambda row: row["seqno"] <= height,
        "jetton_transfers": lambda row: row["transaction_now"] <= time,
        "transactions": lambda row: row["mc_block_seqno"] <= height,
    }

    def fault(asked: str, answer: Answer) -> Answer:
        document = json.loads(answer.body)
        if "last" in document:
            document["last"] = newest
        for name, is_known in kept.items():
            if name in document:
                document[name] = [row for row in document[name] if is_known(row)]
        return Answer(json.dumps(document).encode())

    return fault


Begin = Callable[[AccountChain], Fault]
TROUBLES: dict[str, Begin] = {
    "lags": lags,
    "answers an error": lambda chain: answers(_REFUSAL),
    "answers HTTP 500": lambda chain: answers(b"oops", status=500),
    "limits our rate": lambda chain: answers(b"slow down", status=429, headers={"Retry-After": "2"}),
    "answers garbage": lambda chain: answers(b"<html>502</html>"),
    "answers 10 MB": lambda chain: answers(b"x" * 10 * MEGABYTE),
    "ends early": lambda chain: ends_early,
    "breaks off": lambda chain: breaks_off,
    "drops connections": lambda chain: drops,
    "hangs": lambda chain: Hanging(),
}
