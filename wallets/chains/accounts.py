"""What an address is on its chain, as far as money sent there is concerned: the answer of `ChainFamily.ask_kind`."""

from collections.abc import Iterable
from enum import StrEnum


class AccountKind(StrEnum):
    """Kinds of accounts, from the safest to the most dangerous to receive at."""

    WALLET = "wallet"
    """Somebody's key moves its money, or nothing is there yet."""

    CONTRACT_WALLET = "contract_wallet"
    """A contract or program moves its money for its owners: a Safe, a smart account, a vault, a multisig."""

    EMPTY = "empty"
    """No key can have this address, and nothing is there yet."""

    FROZEN = "frozen"
    """Its network froze it."""

    CONTRACT = "contract"
    """A contract that does not answer as a wallet does: a router, an exchange, a factory."""

    PROGRAM = "program"
    """A program, or data that a program keeps."""

    NFT = "nft"
    """A collection or an item of it."""

    VAULT = "vault"
    """A contract that keeps others' tokens for shares (ERC-4626)."""

    TOKEN_ACCOUNT = "token_account"  # noqa: S105
    """The account in which a token keeps somebody's balance: a token account, a jetton wallet."""

    TOKEN = "token"  # noqa: S105
    """A token's own contract, mint or minter."""

    @property
    def is_wallet(self) -> bool:
        """Whether people can move what it receives."""
        return self in {AccountKind.WALLET, AccountKind.CONTRACT_WALLET}


_ORDER = list(AccountKind)


def most_dangerous(kinds: Iterable[AccountKind]) -> AccountKind:
    """Return the worst of what several nodes say about one address."""
    return max(kinds, key=_ORDER.index)
