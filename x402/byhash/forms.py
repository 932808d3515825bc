"""Parses the facilitator's requests by hash, character by character, and verifies payers' signatures: both may be malicious."""

import hashlib
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from gateway.core import json
from gateway.core.api.fields import missing, refuse, text_in
from gateway.core.money import TOKEN_DECIMALS, to_units
from wallets.chains.base import AddressError
from wallets.chains.evm.proofs import Types, typed_digest
from wallets.networks import address_on, chain_spec, chains
from wallets.transfers.hashes import UnreadableHashError, spellings
from x402.inputs import FAILING, SCHEME, Proof, Requirements, VerifyRequest
from x402.models import RESOURCE_LENGTH
from x402.states import Reason

_NAME: Final = "x402 payment proof"
_TYPES: Final[Types] = {"Proof": {"transaction": "string", "payTo": "string", "resource": "string"}}

_MOST_DIGITS: Final = 15
_AMOUNT: Final = re.compile(r"(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,6})?", re.ASCII)
_ENDLESS: Final = re.compile(r"[1-9][0-9]{15,}(?:\.[0-9]{1,6})?", re.ASCII)
# No chain's hash is longer, and none is padded.
_HASH: Final = re.compile(r"(?:0x)?[0-9A-Za-z+/_-]{43,88}=?", re.ASCII)
_LONGEST_NAME: Final = 64
_LONGEST_SIGNATURE: Final = 400

Body = Mapping[str, Any]


def message_of(proof: Proof, wanted: Requirements) -> str:
    """Return the message that a payer signs: transaction, recipient and resource. Five lines, no newline at the end."""
    return "\n".join(
        (
            _NAME,
            f"chain: {proof.chain}",
            f"transaction: {proof.tx_hash}",
            f"payTo: {proof.pay_to}",
            f"resource: {wanted.resource}",
        )
    )


def proof_digest(proof: Proof, wanted: Requirements, *, chain_id: int) -> bytes:
    """Return the 32 bytes that EIP-712 signs for `Proof(string transaction,string payTo,string resource)`."""
    return typed_digest(
        _TYPES,
        {"name": _NAME, "version": "1", "chainId": chain_id},
        {"transaction": proof.tx_hash, "payTo": proof.pay_to, "resource": wanted.resource},
    )


def is_signed_by_payer(proof: Proof, wanted: Requirements) -> bool | None:
    """Return whether the payer signed; None without a signature."""
    if not proof.signature:
        return None
    spec = chain_spec(proof.chain)
    digests = []
    if spec.family.signs_typed_data and spec.chain_id is not None:
        digests.append(proof_digest(proof, wanted, chain_id=spec.chain_id))
    return spec.family.is_signed_by(
        proof.payer, message_of(proof, wanted).encode(), proof.signature, public_key=proof.public_key, digests=digests
    )


def parse_verify(body: Body, *, is_test: bool) -> VerifyRequest:
    """Parse a body in the specification's form."""
    payment, requirements = _object(body, "payment"), _object(body, "requirements")
    chain = _chain(payment, "payment.chain")
    tx_hash = _text(payment, "payment.txHash", 100)
    proof = Proof(
        tx_hash=_hash(tx_hash, chain, is_test=is_test),
        chain=chain,
        token=_text(payment, "payment.token", _LONGEST_NAME),
        units=_units(payment, "payment.amount"),
        payer=_address(payment, "payment.payerAddress", chain),
        pay_to=_address(payment, "payment.payTo", chain),
        signature=_optional(payment, "payment.signature", _LONGEST_SIGNATURE),
        public_key=_optional(payment, "payment.publicKey", _LONGEST_SIGNATURE),
    )
    wanted = _requirements(requirements)
    return VerifyRequest(proof, wanted, _digest(proof, wanted))


def parse_settle(body: Body) -> tuple[str | None, str | None]:
    """Parse the chain and token to settle for a merchant; None for all.

    A payment of either protocol is refused here: otherwise it would move unrelated funds.
    """
    for name in ("payment", "paymentPayload", "paymentRequirements"):
        if name in body:
            raise refuse(name, f"A body with {name} needs x402Version.")
    chain, token = (text_in(body, name, _LONGEST_NAME) for name in ("chain", "token"))
    return chain or None, token or None


def _requirements(body: Body) -> Requirements:
    scheme = _text(body, "requirements.scheme", _LONGEST_NAME)
    if scheme != SCHEME:
        raise refuse("requirements.scheme", f'scheme must be "{SCHEME}".')
    return Requirements(
        chain=_chain(body, "requirements.network"),
        token=_text(body, "requirements.asset", _LONGEST_NAME),
        units=_units(body, "requirements.maxAmountRequired"),
        resource=_text(body, "requirements.resource", RESOURCE_LENGTH),
    )


def _object(body: Body, name: str) -> Body:
    value = body.get(name)
    if value is None:
        raise missing(name)
    if not isinstance(value, dict):
        raise refuse(name, f"{name} must be an object.")
    return value


def _text(body: Body, path: str, longest: int) -> str:
    """Read a required text; `path` is its name in errors and ends with its key."""
    name = path.rpartition(".")[2]
    if body.get(name) is None:
        raise missing(path)
    text = text_in({path: body[name]}, path, longest)
    if not text:
        raise refuse(path, f"{path} must not be empty.")
    return text


def _optional(body: Body, path: str, longest: int) -> str:
    name = path.rpartition(".")[2]
    return text_in({path: body.get(name)}, path, longest)


def _chain(body: Body, path: str) -> str:
    name = _text(body, path, _LONGEST_NAME)
    if name not in chains():
        known = ", ".join(chains())
        raise refuse(path, f"{path} must be one of {known}.", "chain_unsupported")
    return name


def _hash(text: str, chain: str, *, is_test: bool) -> str:
    """Return the stored spelling of a chain's transaction hash, so that another spelling does not pay again."""
    if is_test and text.startswith(FAILING) and text[len(FAILING) :] in Reason.values:
        return text
    if _HASH.fullmatch(text):
        try:
            named = spellings(text)
        except UnreadableHashError:
            named = {}
        if chain in named:
            return named[chain]
    raise refuse("payment.txHash", f"txHash must be a transaction's hash on {chain}.")


def _units(body: Body, path: str) -> int:
    name = path.rpartition(".")[2]
    value = body.get(name)
    if value is None:
        raise missing(path)
    if json.number_text(value) is not None:
        raise refuse(
            path,
            f'{path} must be a string such as "0.01"; a JSON number has lost precision already.',
            "amount_not_string",
        )
    if isinstance(value, str) and _ENDLESS.fullmatch(value):
        raise refuse(path, f"{path} must have at most {_MOST_DIGITS} digits before the point.", "amount_out_of_range")
    if not isinstance(value, str) or not _AMOUNT.fullmatch(value):
        raise refuse(
            path, f'{path} must look like "0.01": digits, at most {TOKEN_DECIMALS} decimals.', "amount_invalid"
        )
    units = to_units(Decimal(value))
    if units == 0:
        raise refuse(path, f"{path} must be more than nothing.", "amount_out_of_range")
    return units


def _address(body: Body, path: str, chain: str) -> str:
    spec = chain_spec(chain)
    text = _text(body, path, 80)
    try:
        return address_on(spec, text)
    except AddressError as error:
        raise refuse(path, f"{path} {error}", "address_invalid") from None


def _digest(proof: Proof, wanted: Requirements) -> bytes:
    told = [
        *(proof.tx_hash, proof.chain, proof.token, proof.units, proof.payer),
        *(proof.pay_to, proof.signature, proof.public_key),
        *(wanted.chain, wanted.token, wanted.units, wanted.resource),
    ]
    return hashlib.sha256(json.dumps(told)).digest()
