"""The JSON-RPC methods of Agave, and `sim_` methods that a real node does not have."""

import base64
import re
from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

import base58
from solders.account import Account
from solders.pubkey import Pubkey
from solders.transaction_metadata import FailedTransactionMetadata

from localnet.errors import NodeError
from localnet.solana.balances import amount_json, mint_data, parsed_mint, token_account_of
from localnet.solana.ledger import HASH_SLOTS, Landed, Ledger
from localnet.solana.programs import CLOCK, LOOKUP_TABLES, SYSTEM, token_account
from localnet.solana.rendering import ENCODINGS, memo_summary, meta_json, transaction_json, version
from localnet.solana.slots import COMMITMENTS

INVALID_PARAMS: Final = -32602
_NOT_REACHED: Final = -32016
_UNKNOWN_VERSION: Final = -32015
_MOST_LISTED: Final = 1_000
_MOST_STATUSES: Final = 256
_SLOTS_PER_EPOCH: Final = 432_000

Options = dict[str, Any]


class Methods:
    """Answers questions about one ledger. All raise NodeError."""

    def __init__(self) -> None:
        self.ledger = Ledger()

    def answer(self, method: str, params: Sequence[Any]) -> Any:
        """Call a method by its name on the wire."""
        name = re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", method)
        handler = getattr(self, f"rpc_{name}", None)
        if handler is None:
            raise NodeError(-32601, "Method not found", None)
        try:
            return handler(*(_without_nulls(param) for param in params))
        except (TypeError, ValueError, KeyError, IndexError) as error:
            raise NodeError(INVALID_PARAMS, f"Invalid params: {error}", None) from error

    def rpc_get_health(self) -> str:
        return "ok"

    def rpc_get_version(self) -> Any:
        return {"solana-core": "3.0.0", "feature-set": 1}

    def rpc_get_genesis_hash(self) -> str:
        return self.ledger.genesis

    def rpc_get_first_available_block(self) -> int:
        return 0

    def rpc_get_slot(self, options: Options | None = None) -> int:
        return self._head(options)

    def rpc_get_block_height(self, options: Options | None = None) -> int:
        return self._head(options)

    def rpc_get_epoch_info(self, options: Options | None = None) -> Any:
        slot = self._head(options)
        return {
            "absoluteSlot": slot,
            "blockHeight": slot,
            "epoch": slot // _SLOTS_PER_EPOCH,
            "slotIndex": slot % _SLOTS_PER_EPOCH,
            "slotsInEpoch": _SLOTS_PER_EPOCH,
            "transactionCount": len(self.ledger.transactions),
        }

    def rpc_get_block_time(self, slot: int) -> int:
        slots = self.ledger.slots
        if slot > slots.current:
            raise NodeError(-32004, f"Block not available for slot {slot}", None)
        if not slots.has_block(slot):
            raise NodeError(-32009, f"Slot {slot} was skipped", None)
        return slots.time_of(slot)

    def rpc_get_latest_blockhash(self, options: Options | None = None) -> Any:
        slot = self._head(options)
        blockhash = self.ledger.blockhash(slot)
        last = {"blockhash": blockhash, "lastValidBlockHeight": slot + HASH_SLOTS}
        return self._in_context(last, options)

    def rpc_get_minimum_balance_for_rent_exemption(self, size: int, options: Options | None = None) -> int:
        return self.ledger.svm.minimum_balance_for_rent_exemption(size)

    def rpc_get_balance(self, key: str, options: Options | None = None) -> Any:
        balance = self.ledger.svm.get_balance(Pubkey.from_string(key)) or 0
        return self._in_context(balance, options)

    def rpc_get_account_info(self, key: str, options: Options | None = None) -> Any:
        return self._in_context(self._account_json(key, options or {}), options)

    def rpc_get_multiple_accounts(self, keys: list[str], options: Options | None = None) -> Any:
        accounts = [self._account_json(key, options or {}) for key in keys]
        return self._in_context(accounts, options)

    def rpc_get_token_account_balance(self, key: str, options: Options | None = None) -> Any:
        svm = self.ledger.svm
        token = token_account_of(svm, svm.get_account(Pubkey.from_string(key)))
        if token is None:
            raise NodeError(INVALID_PARAMS, "Invalid param: not a token account", None)
        return self._in_context(amount_json(token.units, token.decimals), options)

    def rpc_get_token_accounts_by_owner(self, owner: str, chosen: Options, options: Options | None = None) -> Any:
        """Only associated token accounts of one mint: LiteSVM cannot search its accounts."""
        mint = Pubkey.from_string(chosen["mint"])
        account = self.ledger.svm.get_account(mint)
        if account is None:
            raise NodeError(INVALID_PARAMS, "Invalid param: could not find mint", None)
        key = token_account(Pubkey.from_string(owner), mint, account.owner)
        found = self._account_json(str(key), options or {})
        accounts = [{"pubkey": str(key), "account": found}] if found else []
        return self._in_context(accounts, options)

    def rpc_get_signatures_for_address(self, key: str, options: Options | None = None) -> list[Any]:
        options = options or {}
        limit = options.get("limit", _MOST_LISTED)
        if not 1 <= limit <= _MOST_LISTED:
            raise NodeError(INVALID_PARAMS, "Invalid limit; max 1000", None)
        until = self._head(_at_least_confirmed(options))
        listed = list(self.ledger.naming(str(Pubkey.from_string(key)), until=until))
        named = [landed.signature for landed in listed]
        if (before := options.get("before")) is not None:
            # A node that does not know it lists nothing, and does not say why.
            start = named.index(before) + 1 if before in named else len(named)
        else:
            start = 0
        end = named.index(last) if (last := options.get("until")) in named else None
        return [self._listed_json(landed) for landed in islice(listed[start:end], limit)]

    def rpc_get_signature_statuses(self, signatures: list[str], options: Options | None = None) -> Any:
        if len(signatures) > _MOST_STATUSES:
            raise NodeError(INVALID_PARAMS, "Too many inputs provided; max 256", None)
        statuses = [self._status_json(signature) for signature in signatures]
        return self._in_context(statuses, {"commitment": "processed"})

    def rpc_get_transaction(self, signature: str, options: Options | str | None = None) -> Any:
        asked = {"encoding": options} if isinstance(options, str) else options or {}
        encoding = asked.get("encoding", "json")
        if encoding not in ENCODINGS:
            raise ValueError(encoding)
        landed = self.ledger.transactions.get(signature)
        if landed is None or landed.slot > self._head(_at_least_confirmed(asked)):
            return None
        most = asked.get("maxSupportedTransactionVersion")
        if most is None and version(landed) != "legacy":
            raise NodeError(_UNKNOWN_VERSION, _VERSION_MESSAGE, None)
        answer = {
            "slot": landed.slot,
            "blockTime": self.ledger.slots.time_of(landed.slot),
            "transaction": transaction_json(landed, encoding),
            "meta": meta_json(landed, encoding),
        }
        return answer if most is None else answer | {"version": version(landed)}

    def rpc_send_transaction(self, text: str, options: Options | None = None) -> str:
        options = options or {}
        is_base64 = options.get("encoding") == "base64"
        raw = base64.b64decode(text) if is_base64 else base58.b58decode(text)
        return self.ledger.send(raw, skip_preflight=options.get("skipPreflight", False))

    def rpc_simulate_transaction(self, text: str, options: Options | None = None) -> Any:
        """Only without signatures' verification, as a facilitator asks it."""
        asked = options or {}
        if asked.get("encoding") != "base64" or asked.get("sigVerify"):
            raise ValueError("only base64, and no signatures")
        err, units = self.ledger.simulate(
            base64.b64decode(text, validate=True), any_blockhash=asked.get("replaceRecentBlockhash", False)
        )
        value = {"err": err, "logs": [], "accounts": None, "unitsConsumed": units}
        return self._in_context(value, options)

    def rpc_is_blockhash_valid(self, blockhash: str, options: Options | None = None) -> Any:
        return self._in_context(self.ledger.is_recent(blockhash), options)

    def rpc_request_airdrop(self, key: str, lamports: int, options: Options | None = None) -> str:
        result = self.ledger.svm.airdrop(Pubkey.from_string(key), lamports)
        if isinstance(result, FailedTransactionMetadata):
            raise NodeError(-32603, "Internal error: the airdrop failed", None)
        return str(result.signature())

    def rpc_sim_set_lamports(self, key: str, lamports: int) -> None:
        """Let an account without data hold so much, even what is too little to live on."""
        owner = Pubkey.from_string(key)
        self.ledger.svm.set_account(owner, Account(lamports, b"", SYSTEM))

    def rpc_sim_reset(self) -> None:
        """Begin another chain."""
        self.ledger = Ledger()

    def rpc_sim_advance(self, slots: int) -> int:
        """Let slots pass at once."""
        self.ledger.slots.advance(slots)
        return self.ledger.slots.current

    def rpc_sim_skip(self, slots: int) -> int:
        """Let slots without a block pass at once, and one with a block."""
        self.ledger.slots.skip(slots)
        return self.ledger.slots.current

    def rpc_sim_rollback(self, after: int) -> list[str]:
        """Fork away what happened after a slot; time goes on."""
        return self.ledger.rollback(after)

    def rpc_sim_rewind(self, to: int) -> list[str]:
        """Go back to a slot, as a node that fell behind."""
        gone = self.ledger.rollback(to)
        self.ledger.slots.rewind(to)
        return gone

    def rpc_sim_create_mint(self, key: str, authority: str, program: str, decimals: int) -> None:
        """Put a token where a real one is."""
        data = mint_data(Pubkey.from_string(authority), decimals=decimals)
        self._put(key, data, owner=Pubkey.from_string(program))

    def rpc_sim_create_lookup_table(self, key: str, keys: list[str]) -> None:
        """Put a table of accounts that transactions can take some from."""
        # Its kind, when it ends, when and where it was last added to, no authority, two bytes that fill up.
        header = (1).to_bytes(4, "little") + b"\xff" * 8 + bytes(9) + bytes(35)
        data = header + b"".join(bytes(Pubkey.from_string(one)) for one in keys)
        self._put(key, data, owner=LOOKUP_TABLES)

    def _put(self, key: str, data: bytes, *, owner: Pubkey) -> None:
        svm = self.ledger.svm
        lamports = svm.minimum_balance_for_rent_exemption(len(data))
        svm.set_account(Pubkey.from_string(key), Account(lamports, data, owner))

    def _head(self, options: Options | None) -> int:
        """The newest slot at the commitment asked for. Raises NodeError when that is not as new as asked for."""
        options = options or {}
        slot = self.ledger.slots.head(options.get("commitment", "finalized"))
        if slot < options.get("minContextSlot", 0):
            data = {"contextSlot": slot}
            message = "Minimum context slot has not been reached"
            raise NodeError(_NOT_REACHED, message, data)
        return slot

    def _in_context(self, value: Any, options: Options | None) -> dict[str, Any]:
        context = {"slot": self._head(options), "apiVersion": "3.0.0"}
        return {"context": context, "value": value}

    def _account_json(self, key: str, options: Options) -> Any:
        account = self.ledger.svm.get_account(Pubkey.from_string(key))
        if account is None or not account.lamports:
            return None
        data = bytes(account.data)
        if Pubkey.from_string(key) == CLOCK:
            data = self._clock_data(self._head(options))
        is_parsed = options.get("encoding") == "jsonParsed"
        parsed = self._parsed_json(account) if is_parsed else None
        cut = options.get("dataSlice", {"offset": 0, "length": len(data)})
        piece = data[cut["offset"] : cut["offset"] + cut["length"]]
        return {
            "lamports": account.lamports,
            "owner": str(account.owner),
            "executable": account.executable,
            "rentEpoch": 2**64 - 1,
            "space": len(data),
            "data": parsed or [base64.b64encode(piece).decode(), "base64"],
        }

    def _parsed_json(self, account: Account) -> Any:
        token = token_account_of(self.ledger.svm, account)
        if token is None:
            return parsed_mint(account)
        info = {
            "mint": str(token.mint),
            "owner": str(token.owner),
            "state": "initialized",
            "isNative": False,
            "tokenAmount": amount_json(token.units, token.decimals),
        }
        parsed = {"type": "account", "info": info}
        return {"program": "spl-token", "space": len(account.data), "parsed": parsed}

    def _clock_data(self, slot: int) -> bytes:
        numbers = [slot, 0, slot // _SLOTS_PER_EPOCH, 0, self.ledger.slots.time_of(slot)]
        return b"".join(number.to_bytes(8, "little") for number in numbers)

    def _listed_json(self, landed: Landed) -> dict[str, Any]:
        return {
            "signature": landed.signature,
            "slot": landed.slot,
            "err": landed.err,
            "memo": memo_summary(landed),
            "blockTime": self.ledger.slots.time_of(landed.slot),
            "confirmationStatus": self._commitment(landed.slot),
        }

    def _status_json(self, signature: str) -> Any:
        landed = self.ledger.transactions.get(signature)
        if landed is None:
            return None
        reached = self._commitment(landed.slot)
        above = self.ledger.slots.current - landed.slot
        return {
            "slot": landed.slot,
            "confirmations": None if reached == "finalized" else above,
            "err": landed.err,
            "status": {"Ok": None} if landed.err is None else {"Err": landed.err},
            "confirmationStatus": reached,
        }

    def _commitment(self, slot: int) -> str:
        reached = [name for name in COMMITMENTS if slot <= self.ledger.slots.head(name)]
        return reached[-1] if reached else "processed"


_VERSION_MESSAGE: Final = (
    "Transaction version (0) is not supported by the requesting client. Please try the request again with the following "
    'configuration parameter: "maxSupportedTransactionVersion": 0'
)


def _without_nulls(param: Any) -> Any:
    """Leave out the options that a client names without a value."""
    if not isinstance(param, dict):
        return param
    return {name: value for name, value in param.items() if value is not None}


def _at_least_confirmed(options: Options) -> Options:
    if options.get("commitment") == "processed":
        message = "Method does not support commitment below `confirmed`"
        raise NodeError(INVALID_PARAMS, message, None)
    return options
