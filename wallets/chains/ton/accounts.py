"""What a TON address is: its state, its code, and which methods of wallets and jettons the contract answers."""

from typing import Any, Final

from wallets.chains.accounts import AccountKind
from wallets.chains.base import MalformedAnswerError
from wallets.chains.rpc.client import Node
from wallets.chains.ton import decode
from wallets.chains.ton.questions import written_address
from wallets.chains.ton.wallets import wallet_codes

_ACTIVE: Final = "active"
_UNUSED: Final = {"uninit", "nonexist"}
_STATUSES: Final = {_ACTIVE, "frozen", *_UNUSED}
# TVM's codes for a method that ended well.
_DONE: Final = {0, 1}
# In this order: what a token answers decides, whatever else it answers. Sources: TEP-62, TEP-74, TEP-89;
# https://github.com/ton-blockchain, wallet-contract-v5, highload-wallet-contract-v3, multisig-contract-v2.
_METHODS: Final = (
    ("get_wallet_data", AccountKind.TOKEN_ACCOUNT),
    ("get_jetton_data", AccountKind.TOKEN),
    ("get_nft_data", AccountKind.NFT),
    ("get_collection_data", AccountKind.NFT),
    ("get_multisig_data", AccountKind.CONTRACT_WALLET),
    ("get_public_key", AccountKind.WALLET),
    ("seqno", AccountKind.WALLET),
)


def ask_kind(node: Node, key: bytes) -> AccountKind:
    """Return what is at an address, given as `address_key` writes it. Raises ChainError."""
    address = written_address(key)
    query = [("address", address), ("include_boc", "false")]
    status, code = _state(node.get("accountStates", query), key)
    if status in _UNUSED:
        return AccountKind.WALLET
    if status != _ACTIVE:
        return AccountKind.FROZEN
    if code in wallet_codes():
        return AccountKind.WALLET
    for method, kind in _METHODS:
        if _answers(node, address, method):
            return kind
    return AccountKind.CONTRACT


def _state(answer: Any, key: bytes) -> tuple[str, str]:
    """Return an account's status and the hash of its code; an index lists no account that was never used."""
    rows = decode.rows(answer, "accounts")
    if not rows:
        return "nonexist", ""
    fields = decode.mapping(rows[0])
    status = fields.get("status")
    if len(rows) > 1 or decode.key(fields.get("address")) != key:
        raise MalformedAnswerError("an index tells of another account than asked for")
    if not isinstance(status, str) or status not in _STATUSES:
        raise MalformedAnswerError("an account has no known status")
    code = fields.get("code_hash")
    return status, decode.hash_of(code) if code else ""


def _answers(node: Node, address: str, method: str) -> bool:
    """Whether the contract has a method that ends well."""
    question = {"address": address, "method": method, "stack": []}
    told = decode.mapping(node.post("runGetMethod", question)).get("exit_code")
    if type(told) is not int:
        raise MalformedAnswerError("a method ended without saying how")
    return told in _DONE
