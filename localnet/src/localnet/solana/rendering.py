"""Transactions as nodes write them."""

import base64
from typing import Any, Final

import base58
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from localnet.solana.ledger import Landed
from localnet.solana.programs import MEMO

ENCODINGS: Final = ("json", "jsonParsed", "base64", "base58")


def version(landed: Landed) -> str | int:
    """The version of a transaction's format."""
    is_new = hasattr(landed.transaction.message, "address_table_lookups")
    return 0 if is_new else "legacy"


def transaction_json(landed: Landed, encoding: str) -> Any:
    """The transaction itself; in jsonParsed the accounts and memos are parsed, nothing else."""
    transaction, raw = landed.transaction, bytes(landed.transaction)
    if encoding == "base64":
        return [base64.b64encode(raw).decode(), "base64"]
    if encoding == "base58":
        return [base58.b58encode(raw).decode(), "base58"]
    parsed = encoding == "jsonParsed"
    return {
        "signatures": [str(signature) for signature in transaction.signatures],
        "message": _parsed_message(landed) if parsed else _message(landed),
    }


def meta_json(landed: Landed, encoding: str) -> dict[str, Any]:
    """What a transaction did."""
    written, read = landed.loaded
    err = landed.err
    meta = {
        "err": err,
        "status": {"Ok": None} if err is None else {"Err": err},
        "fee": landed.result.fee(),
        "preBalances": [one.lamports if one else 0 for one in landed.before],
        "postBalances": [one.lamports if one else 0 for one in landed.after],
        "preTokenBalances": landed.tokens_before,
        "postTokenBalances": landed.tokens_after,
        "innerInstructions": _inner_instructions(landed, encoding),
        "logMessages": landed.result.logs(),
        "rewards": [],
        "computeUnitsConsumed": landed.result.compute_units_consumed(),
    }
    if encoding != "jsonParsed":
        meta["loadedAddresses"] = {"writable": _texts(written), "readonly": _texts(read)}
    return meta


def memo_summary(landed: Landed) -> str | None:
    """All memos, as listings write them; None where there are none."""
    instructions = landed.transaction.message.instructions
    texts = [bytes(one.data).decode() for one in instructions if landed.keys[one.program_id_index] == MEMO]
    return "; ".join(f"[{len(text.encode())}] {text}" for text in texts) or None


def _message(landed: Landed) -> dict[str, Any]:
    message = landed.transaction.message
    header = message.header
    written = {
        "header": {
            "numRequiredSignatures": header.num_required_signatures,
            "numReadonlySignedAccounts": header.num_readonly_signed_accounts,
            "numReadonlyUnsignedAccounts": header.num_readonly_unsigned_accounts,
        },
        "accountKeys": _texts(message.account_keys),
        "recentBlockhash": str(message.recent_blockhash),
        "instructions": [_instruction(one, None) for one in message.instructions],
    }
    if version(landed) == 0:
        written["addressTableLookups"] = _lookups(landed.transaction)
    return written


def _parsed_message(landed: Landed) -> dict[str, Any]:
    message = landed.transaction.message
    is_legacy = version(landed) == "legacy"
    return {
        "accountKeys": _parsed_keys(landed),
        "addressTableLookups": None if is_legacy else _lookups(landed.transaction),
        "recentBlockhash": str(message.recent_blockhash),
        "instructions": [_parsed_instruction(one, landed, None) for one in message.instructions],
    }


def _parsed_keys(landed: Landed) -> list[dict[str, Any]]:
    header, own = (landed.transaction.message.header, landed.transaction.message.account_keys)
    signers, written = header.num_required_signatures, landed.loaded[0]
    written_signers = signers - header.num_readonly_signed_accounts
    written_others = len(own) - header.num_readonly_unsigned_accounts

    def is_written(place: int) -> bool:
        if place >= len(own):
            return place < len(own) + len(written)
        return place < (written_signers if place < signers else written_others)

    return [
        {
            "pubkey": str(key),
            "signer": place < signers,
            "writable": is_written(place),
            "source": "transaction" if place < len(own) else "lookupTable",
        }
        for place, key in enumerate(landed.keys)
    ]


def _lookups(transaction: VersionedTransaction) -> list[dict[str, Any]]:
    return [
        {
            "accountKey": str(lookup.account_key),
            "writableIndexes": list(bytes(lookup.writable_indexes)),
            "readonlyIndexes": list(bytes(lookup.readonly_indexes)),
        }
        for lookup in getattr(transaction.message, "address_table_lookups", [])
    ]


def _inner_instructions(landed: Landed, encoding: str) -> list[dict[str, Any]]:
    parsed = encoding == "jsonParsed"
    return [
        {
            "index": place,
            "instructions": [
                _parsed_instruction(one, landed, height) if parsed else _instruction(one, height)
                for one, height in _with_heights(group)
            ],
        }
        for place, group in enumerate(landed.result.inner_instructions())
        if group
    ]


def _with_heights(group: list[Any]) -> list[tuple[Any, int]]:
    # solders' type information does not know of the heights.
    return [(one.instruction(), one.stack_height()) for one in group]


def _instruction(instruction: Any, height: int | None) -> dict[str, Any]:
    return {
        "programIdIndex": instruction.program_id_index,
        "accounts": list(bytes(instruction.accounts)),
        "data": base58.b58encode(bytes(instruction.data)).decode(),
        "stackHeight": height,
    }


def _parsed_instruction(instruction: Any, landed: Landed, height: int | None) -> dict[str, Any]:
    program, data = landed.keys[instruction.program_id_index], bytes(instruction.data)
    written: dict[str, Any] = {"programId": str(program), "stackHeight": height}
    if program == MEMO:
        return written | {"program": "spl-memo", "parsed": data.decode()}
    places = bytes(instruction.accounts)
    return written | {
        "accounts": [str(landed.keys[place]) for place in places],
        "data": base58.b58encode(data).decode(),
    }


def _texts(keys: list[Pubkey]) -> list[str]:
    return [str(key) for key in keys]
