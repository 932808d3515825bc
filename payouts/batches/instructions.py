"""What a paying wallet is given to pay a batch: a list, a Safe's file, calls, or codes to scan. Pure."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from gateway.core.exports import csv_pieces
from gateway.core.money import from_units
from payouts.outflows.handed_out import stored_line
from payouts.outflows.matching import reference_of
from payouts.states import SHOWN_DIGITS
from wallets.chains.family import ChainSpec, PaymentRequest, TokenSpec
from wallets.forwarders.addresses import keccak
from wallets.networks import shown_address

CSV_HEADER: Final = ("address", "amount", "token", "chain", "payout id")
AIRDROP_HEADER: Final = ("token_type", "token_address", "receiver", "amount", "id")
"""Of files for CSV Airdrop, an app of Safes. The id is of tokens that are no money: it stays empty."""

# The version of Safe's transaction builder whose files these are.
_BUILDER_VERSION: Final = "1.16.3"
_TRANSFER: Final[dict[str, Any]] = {
    "inputs": [
        {"name": "to", "type": "address", "internalType": "address"},
        {"name": "value", "type": "uint256", "internalType": "uint256"},
    ],
    "name": "transfer",
    "payable": False,
}


@dataclass(frozen=True, slots=True)
class PayoutLine:
    """One payout: `units` are base units of the order's token, `address` is canonical."""

    payout_id: str
    address: str
    units: int

    def raw(self) -> bytes:
        """Return what is stored of it, which `read_line` reads."""
        return stored_line(self.address, self.units)


def read_line(payout_id: str, raw: bytes) -> PayoutLine:
    """Return the line of a payout as it was frozen."""
    stored = json.loads(raw)
    return PayoutLine(payout_id, stored["address"], int(stored["units"]))


@dataclass(frozen=True, slots=True)
class PayingOrder:
    """What one wallet is to pay: lines of one chain and token, in a fixed order."""

    batch_id: str
    chain: ChainSpec
    token: TokenSpec
    lines: tuple[PayoutLine, ...]

    @property
    def units(self) -> int:
        """The sum of all lines, in base units."""
        return sum(line.units for line in self.lines)

    @property
    def takes_calls(self) -> bool:
        """Whether the chain's wallets take calls, and may be Safes."""
        return self.chain.family.transfer_data(self.chain.family.nobody, 1) is not None

    def rows(self) -> list[tuple[str, Decimal, str, str, str]]:
        """Return the lines as rows of the list, under `CSV_HEADER`."""
        return [
            (shown_address(line.address), self._amount(line), self.token.symbol, self.chain.name, line.payout_id)
            for line in self.lines
        ]

    def airdrop_rows(self) -> list[tuple[str, str, str, Decimal, None]]:
        """Return the lines as rows of a Safe's CSV Airdrop, under `AIRDROP_HEADER`. Only where `takes_calls`."""
        return [("erc20", self.token.address, line.address, self._amount(line), None) for line in self.lines]

    def csv(self) -> str:
        """Return the list as CSV."""
        return "".join(csv_pieces(CSV_HEADER, self.rows(), for_people=False))

    def digest(self) -> str:
        """Return the SHA-256 of the list's file in hexadecimal, which anyone can compute from the file."""
        return hashlib.sha256(self.csv().encode()).hexdigest()

    def calls(self) -> list[dict[str, str]]:
        """Return a token transfer for each line, as wallets take them (EIP-5792): `{to, data}`. Only where `takes_calls`."""
        units = self.token.contract_units
        found = [(self.chain.family.transfer_data(line.address, units(line.units)) or b"") for line in self.lines]
        return [{"to": self.token.address, "data": f"0x{data.hex()}"} for data in found]

    def code(self, line: PayoutLine) -> str:
        """Return what a wallet scans to pay a line: a payment link, or the address where wallets misread links.

        A link carries what names the payout, where the chain's wallets send that along: its reference, or its id as text.
        """
        address = shown_address(line.address)
        if self.chain.family.qr_is_address:
            return address
        asked = PaymentRequest(
            self.chain,
            self.token.symbol,
            line.address,
            line.units,
            reference=reference_of(line.payout_id),
            memo=line.payout_id,
        )
        return self.chain.family.payment_uri(asked) or address

    def safe_file(self, safe: str, *, at: datetime) -> str:
        """Return a file for the transaction builder of a Safe, whose address is `safe`, as JSON. Only where `takes_calls`.

        The format is that of https://github.com/safe-global/safe-react-apps, apps/tx-builder.
        """
        transactions = [
            {
                "to": self.token.address,
                "value": "0",
                "data": None,
                "contractMethod": _TRANSFER,
                "contractInputsValues": {"to": line.address, "value": str(self.token.contract_units(line.units))},
            }
            for line in self.lines
        ]
        meta = {
            "name": f"{self.batch_id} {self.digest()[:SHOWN_DIGITS]}",
            "description": "",
            "txBuilderVersion": _BUILDER_VERSION,
            "createdFromSafeAddress": safe,
            "createdFromOwnerAddress": "",
        }
        file = {
            "version": "1.0",
            "chainId": str(self.chain.chain_id),
            "createdAt": int(at.timestamp() * 1000),
            "meta": meta,
            "transactions": transactions,
        }
        meta["checksum"] = safe_checksum(file)
        return json.dumps(file, indent=2)

    def _amount(self, line: PayoutLine) -> Decimal:
        return from_units(line.units, self.token.decimals)


def order_of(batch_id: str, chain: ChainSpec, token: str, lines: Iterable[PayoutLine]) -> PayingOrder:
    """Return an order whose lines are sorted by payout. Raises KeyError for a token that the settings no longer name."""
    return PayingOrder(batch_id, chain, chain.tokens[token], tuple(sorted(lines, key=lambda line: line.payout_id)))


def safe_checksum(file: dict[str, Any]) -> str:
    """Return the checksum that Safe's transaction builder expects in `meta.checksum`.

    It covers all of the file but itself and the name (apps/tx-builder/src/lib/checksum.ts).
    """
    meta = {name: value for name, value in file["meta"].items() if name != "checksum"} | {"name": None}
    return f"0x{keccak(_serialised(file | {'meta': meta}).encode()).hex()}"


def _serialised(value: Any) -> str:
    """Write a value as the builder does before hashing: an object's sorted keys, then its values."""
    if isinstance(value, list):
        return f"[{','.join(map(_serialised, value))}]"
    if isinstance(value, dict):
        keys = sorted(value)
        listed = json.dumps(keys, separators=(",", ":"), ensure_ascii=False)
        return "{" + listed + "".join(f"{_serialised(value[key])}," for key in keys) + "}"
    return json.dumps(value, ensure_ascii=False)
