"""The names of a Solana token: in Metaplex's metadata account, or in the mint itself (Token-2022)."""

from collections.abc import Iterator
from typing import Any, Final

from wallets.chains.rpc.client import Node
from wallets.chains.solana import decode

# https://developers.metaplex.com/token-metadata: an account derived from the mint. A byte, two keys, then texts.
_METAPLEX: Final = "metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s"
_METAPLEX_TEXTS: Final = 1 + 32 + 32
# The extensions of a mint come behind 165 bytes and a kind: entries of type, length and value (Token-2022's source).
_EXTENSIONS: Final = 166
_TOKEN_METADATA: Final = 19
_TEXTS: Final = 32 + 32
_LONGEST: Final = 200


def ask_names(node: Node, mint: str) -> list[str]:
    """Return a token's name and symbol as far as they can be read."""
    options = {"commitment": "confirmed", "encoding": "base64"}
    keys = [_metadata_account(mint), mint]
    _, accounts = decode.in_context(node.call("getMultipleAccounts", [keys, options]))
    metadata, own = (_data(account) for account in decode.items(accounts))
    return [*_texts(metadata[_METAPLEX_TEXTS:]), *_extension(own)]


def _metadata_account(mint: str) -> str:
    # Slow to import, and few names are asked for.
    from solders.pubkey import Pubkey

    program = Pubkey.from_string(_METAPLEX)
    seeds = [b"metadata", bytes(program), bytes(Pubkey.from_string(mint))]
    return str(Pubkey.find_program_address(seeds, program)[0])


def _data(account: Any) -> bytes:
    return b"" if account is None else decode.account_data(account)


def _extension(mint: bytes) -> Iterator[str]:
    left = mint[_EXTENSIONS:]
    while len(left) > 4:
        kind, length = (int.from_bytes(left[at : at + 2], "little") for at in (0, 2))
        if kind == _TOKEN_METADATA:
            yield from _texts(left[4 : 4 + length][_TEXTS:])
        left = left[4 + length :]


def _texts(data: bytes) -> Iterator[str]:
    """Yield the name and the symbol, each behind its length and filled up with zeros."""
    for _ in range(2):
        length = int.from_bytes(data[:4], "little")
        if not 0 < length <= min(_LONGEST, len(data) - 4):
            return
        yield data[4 : 4 + length].decode(errors="ignore").strip("\0")
        data = data[4 + length :]
