"""Real adapters over replayed answers, and the few answers around a sample that nobody recorded.

A header, a chain id or a genesis hash that a question needs and no sample has is made here, of the recorded fields that
name it and published facts. Nothing is asserted about such an answer.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from wallets.chains.family import ChainSpec
from wallets.chains.registry import load_chains, open_pool

A = TypeVar("A")

ETHEREUM_ID, ARBITRUM_ID = "0x1", "0xa4b1"
ARBITRUM_USDT: Final = "0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9"
SOLANA_GENESIS: Final = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"
NOBODYS_HASH: Final = "0x" + "00" * 32


def mainnet(chain: str, *urls: str, **settings: str) -> ChainSpec:
    """A chain of the main network with its published tokens, on these nodes."""
    given = {"RPC_URLS": ",".join(urls)} | settings
    named = {f"{chain.upper()}_{key}": value for key, value in given.items()}
    return load_chains("mainnet", named)[chain]


@contextmanager
def opened(spec: ChainSpec, kind: type[A]) -> Iterator[A]:
    """The chain's adapter, which is of this kind; closed afterwards."""
    adapter = spec.family.open_adapter(spec, open_pool(spec))
    assert isinstance(adapter, kind)
    yield adapter
    adapter.close()


def evm_header(receipt: Any) -> dict[str, Any]:
    """The header of a receipt's block, as far as the receipt tells it."""
    return {
        "number": receipt["blockNumber"],
        "hash": receipt["blockHash"],
        "parentHash": NOBODYS_HASH,
        "timestamp": "0x66000000",
    }


def as_json_encoding(parsed: Any) -> Any:
    """Write a recorded `jsonParsed` transaction in the encoding `json`: derived, with nothing added.

    Keys, balances, fee and signatures stay. The header is counted from the flags of the keys; of instructions the program
    stays, and the text of a memo.
    """
    import base58

    body = parsed["transaction"]
    flags = body["message"]["accountKeys"]
    keys = [one["pubkey"] for one in flags]
    read_only = [one for one in flags if not one["writable"]]
    signers = [one for one in read_only if one["signer"]]
    header = {
        "numRequiredSignatures": sum(one["signer"] for one in flags),
        "numReadonlySignedAccounts": len(signers),
        "numReadonlyUnsignedAccounts": len(read_only) - len(signers),
    }

    def written(one: Any) -> dict[str, Any]:
        memo = one["parsed"].encode() if isinstance(one["parsed"], str) else b""
        place = keys.index(one["programId"])
        data = base58.b58encode(memo).decode()
        return {"programIdIndex": place, "accounts": [], "data": data}

    instructions = [written(one) for one in body["message"]["instructions"]]
    message = body["message"] | {"accountKeys": keys, "header": header, "instructions": instructions}
    meta = parsed["meta"] | {"innerInstructions": None}
    told = parsed | {"transaction": body | {"message": message}, "meta": meta}
    return told | {"version": "legacy"}
