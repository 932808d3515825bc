"""The demo's wallet: pays with a real transfer, for people without a wallet of their own."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation, Overflow
from pathlib import Path
from urllib.parse import urlsplit

from demo.families import DEMO_FAMILIES
from demo.wallets.base import ChainEntry, Transfer, WalletError
from wallets.chains.base import AddressError
from wallets.chains.family import TOKEN_DECIMALS, ChainFamily
from wallets.chains.registry import family_called


def pay(chain: ChainEntry, *, token: str, to: str, amount: str, reference: str = "", comment: str = "") -> str:
    """Send `amount` (a decimal number of tokens) and return the transaction's hash.

    `chain` is an entry of var/demo.json; `reference` and `comment` are written beside the transfer where the chain has
    room for them. Raises `WalletError`.
    """
    if token not in chain["tokens"]:
        message = f"This wallet holds no {token} on that chain."
        raise WalletError(message)
    family = family_called(chain["kind"])
    order = Transfer(
        token_address=chain["tokens"][token],
        to=_recipient(to, family),
        units=_units(amount),
        reference=reference,
        comment=comment,
    )
    send = DEMO_FAMILIES[family.name].send
    try:
        with one_at_a_time(chain):
            return send(chain, order)
    except OSError as error:
        message = f"The node does not answer: {error}"
        raise WalletError(message) from error


@contextmanager
def one_at_a_time(chain: ChainEntry) -> Iterator[None]:
    """Lock this wallet's transfers across processes: two at once would be signed with the same nonce."""
    port = urlsplit(chain["node_url"]).port
    path = Path(tempfile.gettempdir()) / f"florin-demo-{os.getuid()}-{port}.lock"
    with path.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _recipient(text: str, family: ChainFamily) -> str:
    try:
        return family.canonical_address(text.strip())
    except AddressError as error:
        message = f"The address {error}"
        raise WalletError(message) from None


def _units(text: str) -> int:
    try:
        units = Decimal(text.strip()) * 10**TOKEN_DECIMALS
    except (InvalidOperation, Overflow):
        units = Decimal(0)
    is_sound = units.is_finite() and 0 < units < 10**18
    if not is_sound or units != units.to_integral_value():
        message = "An amount is a positive number with at most six decimals."
        raise WalletError(message)
    return int(units)
