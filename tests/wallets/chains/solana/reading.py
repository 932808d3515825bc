"""Reading Solana accounts in tests."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import strategies as st
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from localnet.solana.node import USDC
from wallets.chains.base import Account, TokenTransfer
from wallets.chains.family import ChainSpec
from wallets.chains.registry import CHAINS, load_chain, open_pool
from wallets.chains.solana.adapter import PAGE, SolanaAdapter

FACTS = next(facts for facts in CHAINS if facts.name == "solana")

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=50)
    | st.sampled_from([USDC, str(2**64 - 1)]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=10,
)
"""Whatever a node may answer."""


def solana_spec(*urls: str, token: str | None = None) -> ChainSpec:
    """A local chain behind these nodes; `token` stands for USDC."""
    settings = {"SOLANA_RPC_URLS": ",".join(urls)}
    if token is not None:
        settings["SOLANA_TOKEN_USDC"] = token
    return load_chain(FACTS, network="local", settings=settings)


def open_reader(*urls: str, token: str | None = None, page: int = PAGE) -> SolanaAdapter:
    """A reader of the chain behind these nodes."""
    spec = solana_spec(*urls, token=token)
    # Other tokens are read at intervals, which would make requests hard to count.
    spec = replace(spec, tokens={one.symbol: one for one in spec.accepted_tokens})
    return SolanaAdapter(spec, open_pool(spec), page=page)


def new_owner() -> str:
    """An address that nobody has used."""
    return str(Keypair().pubkey())


def account_of(owner: str) -> Account:
    """An account of which nothing is known."""
    return Account(key=bytes(Pubkey.from_string(owner)), address=owner, height=0, time=datetime(2026, 1, 1, tzinfo=UTC))


def read(reader: SolanaAdapter, *owners: str) -> list[list[TokenTransfer]]:
    """All that each owner got."""
    accounts = [account_of(owner) for owner in owners]
    readings = reader.read_accounts(accounts, head=reader.head())
    return [list(reading.transfers) for reading in readings]


def read_one(reader: SolanaAdapter, owner: str) -> list[TokenTransfer]:
    """All that one owner got."""
    [transfers] = read(reader, owner)
    return transfers


def units_of(transfers: Sequence[TokenTransfer]) -> list[int]:
    """The amounts alone, in order."""
    return [transfer.units for transfer in transfers]
