"""The chain's transactions, run by LiteSVM, with the slots in which they landed."""

import secrets
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from solders.account import Account
from solders.hash import Hash
from solders.litesvm import LiteSVM
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction
from solders.transaction_metadata import FailedTransactionMetadata, TransactionMetadata

from localnet.errors import NodeError
from localnet.solana.balances import token_balances
from localnet.solana.programs import SYSTEM
from localnet.solana.slots import Slots

HASH_SLOTS: Final = 150
"""For how long a blockhash can be used."""

_SIMULATION_FAILED: Final = -32002
_BAD_SIGNATURE: Final = -32003
_FEE: Final = 5_000
_TABLE_HEADER: Final = 56

Balances = list[dict[str, Any]]


@dataclass(frozen=True)
class Landed:
    """A transaction in a block. `keys` are its accounts, those from lookup tables after its own."""

    signature: str
    slot: int
    transaction: VersionedTransaction
    keys: list[Pubkey]
    loaded: tuple[list[Pubkey], list[Pubkey]]
    err: Any
    result: TransactionMetadata
    before: list[Account | None]
    after: list[Account | None]
    tokens_before: Balances
    tokens_after: Balances


class Ledger:
    """One chain, from its own random genesis on."""

    def __init__(self) -> None:
        self.genesis = str(Hash(secrets.token_bytes(32)))
        self.slots = Slots()
        # The ledger itself knows which blockhashes are recent and which transactions came before.
        self.svm = LiteSVM().with_blockhash_check(False).with_transaction_history(0)
        self.transactions: dict[str, Landed] = {}
        self._by_account: dict[str, list[Landed]] = defaultdict(list)

    def blockhash(self, slot: int) -> str:
        """The hash of a slot's block."""
        seed = f"{self.genesis}/{slot}".encode()
        return str(Hash(sha256(seed).digest()))

    def naming(self, account: str, *, until: int) -> Iterator[Landed]:
        """Transactions up to a slot that name an account, the newest first."""
        for landed in reversed(self._by_account.get(account, [])):
            if landed.slot <= until:
                yield landed

    def send(self, raw: bytes, *, skip_preflight: bool) -> str:
        """Run a transaction and put it into the newest block; return its signature. Raises NodeError for a bad one."""
        transaction = VersionedTransaction.from_bytes(raw)
        signature = str(transaction.signatures[0])
        if signature in self.transactions:
            raise _refusal("AlreadyProcessed")
        if not self.is_recent(str(transaction.message.recent_blockhash)):
            raise _refusal("BlockhashNotFound")
        self._set_clock()
        if not skip_preflight:
            self._simulate(transaction)
        self._land(signature, transaction)
        return signature

    def simulate(self, raw: bytes, *, any_blockhash: bool = False) -> tuple[Any, int]:
        """A transaction's error, None for none, whether or not it is signed; and the compute units that it takes."""
        transaction = VersionedTransaction.from_bytes(raw)
        # Nodes know a transaction by what is signed, whoever has signed it.
        landed = (one.transaction.message for one in self.transactions.values())
        if transaction.message in landed:
            return "AlreadyProcessed", 0
        recent = str(transaction.message.recent_blockhash)
        if not any_blockhash and not self.is_recent(recent):
            return "BlockhashNotFound", 0
        self._set_clock()
        self.svm = self.svm.with_sigverify(False)
        try:
            result = self.svm.simulate_transaction(transaction)
        finally:
            self.svm = self.svm.with_sigverify(True)
        units = result.meta().compute_units_consumed()
        if isinstance(result, FailedTransactionMetadata):
            return error_json(result.err()), units
        return None, units

    def is_recent(self, blockhash: str) -> bool:
        """Whether a transaction may name a block's hash."""
        return blockhash in self._recent_hashes()

    def rollback(self, after: int) -> list[str]:
        """Undo and forget the transactions of every slot after this one; return their signatures, the newest first."""
        gone = [one for one in self.transactions.values() if one.slot > after]
        for landed in reversed(gone):
            self._undo(landed)
        return [landed.signature for landed in reversed(gone)]

    def _recent_hashes(self) -> set[str]:
        newest = self.slots.current
        return {self.blockhash(slot) for slot in range(newest - HASH_SLOTS, newest + 1)}

    def _set_clock(self) -> None:
        slot = self.slots.head("processed")
        self.svm.warp_to_slot(slot)
        clock = self.svm.get_clock()
        clock.unix_timestamp = self.slots.time_of(slot)
        self.svm.set_clock(clock)

    def _simulate(self, transaction: VersionedTransaction) -> None:
        result = self.svm.simulate_transaction(transaction)
        if not isinstance(result, FailedTransactionMetadata):
            return
        err = error_json(result.err())
        if err == "SignatureFailure":
            raise NodeError(_BAD_SIGNATURE, "Signature verification failure", None)
        raise _refusal(err, logs=result.meta().logs())

    def _land(self, signature: str, transaction: VersionedTransaction) -> None:
        loaded = self._loaded(transaction)
        keys = [*transaction.message.account_keys, *loaded[0], *loaded[1]]
        before = self._accounts(keys)
        tokens_before = token_balances(self.svm, before)
        result = self.svm.send_transaction(transaction)
        failed = isinstance(result, FailedTransactionMetadata)
        meta = result.meta() if isinstance(result, FailedTransactionMetadata) else result
        # One that never ran, for want of money for its fee, gets into no block.
        if failed and not meta.logs():
            return
        after = self._accounts(keys)
        landed = Landed(
            signature=signature,
            slot=self.slots.head("processed"),
            transaction=transaction,
            keys=keys,
            loaded=loaded,
            err=error_json(result.err()) if isinstance(result, FailedTransactionMetadata) else None,
            result=meta,
            before=before,
            after=after,
            tokens_before=tokens_before,
            tokens_after=token_balances(self.svm, after),
        )
        self.transactions[signature] = landed
        for key in set(keys):
            self._by_account[str(key)].append(landed)

    def _loaded(self, transaction: VersionedTransaction) -> tuple[list[Pubkey], list[Pubkey]]:
        """The accounts that a transaction takes from lookup tables: those it writes, and those it reads."""
        written: list[Pubkey] = []
        read: list[Pubkey] = []
        for lookup in getattr(transaction.message, "address_table_lookups", []):
            table = self.svm.get_account(lookup.account_key)
            data = bytes(table.data)[_TABLE_HEADER:] if table else b""
            keys = [Pubkey(data[at : at + 32]) for at in range(0, len(data), 32)]
            written += [keys[place] for place in bytes(lookup.writable_indexes)]
            read += [keys[place] for place in bytes(lookup.readonly_indexes)]
        return written, read

    def _accounts(self, keys: Sequence[Pubkey]) -> list[Account | None]:
        return [self.svm.get_account(key) for key in keys]

    def _undo(self, landed: Landed) -> None:
        for key, account in zip(landed.keys, landed.before, strict=True):
            self.svm.set_account(key, account or Account(0, b"", SYSTEM))
        del self.transactions[landed.signature]
        for key in set(landed.keys):
            self._by_account[str(key)].remove(landed)


def error_json(error: Any) -> Any:
    """A transaction's error as nodes write it: a name, or {"InstructionError": [0, {"Custom": 1}]}."""
    if hasattr(error, "account_index"):
        return {"InsufficientFundsForRent": {"account_index": error.account_index}}
    if not hasattr(error, "index"):
        return _name(error)
    code = getattr(error.err, "code", None)
    inner = _name(error.err) if code is None else {"Custom": code}
    return {"InstructionError": [error.index, inner]}


def _name(error: Any) -> str:
    return repr(error).rsplit(".", 1)[-1]


def _refusal(err: Any, *, logs: Sequence[str] = ()) -> NodeError:
    data = {"err": err, "logs": list(logs), "accounts": None, "unitsConsumed": 0}
    return NodeError(_SIMULATION_FAILED, f"Transaction simulation failed: {err}", data)
