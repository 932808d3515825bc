"""The demo's wallet: pays with a real transfer, for people without a browser wallet."""

import threading
from decimal import Decimal, InvalidOperation, Overflow
from typing import Any
from urllib.parse import urlsplit

from tests.nodes.anvil import Anvil, FundedAccount
from tests.nodes.errors import NodeError
from tests.nodes.tokens import DECIMALS, transfer
from wallets.forwarder import checksum

# Two transfers at once would be signed with the same nonce.
_one_at_a_time = threading.Lock()


class WalletError(Exception):
    """The transfer was not made; the message says why."""


def pay(chain: dict[str, Any], *, token: str, to: str, amount: str) -> str:
    """Send `amount` (a decimal number of tokens) and return the transaction's hash.

    `chain` is an entry of var/demo.json. Raises `WalletError`.
    """
    if token not in chain["tokens"]:
        message = f"This wallet holds no {token} on that chain."
        raise WalletError(message)
    node = Anvil(chain["chain_id"], port=urlsplit(chain["rpc_url"]).port)
    account = FundedAccount(chain["funded_address"], chain["funded_private_key"])
    recipient, units = _recipient(to), _units(amount)
    try:
        with _one_at_a_time:
            return transfer(node, account, chain["tokens"][token], recipient, units)
    except (NodeError, OSError) as error:
        message = f"The node did not take the transfer: {error}"
        raise WalletError(message) from error


def _recipient(text: str) -> str:
    try:
        return checksum(bytes.fromhex(text.strip().removeprefix("0x")))
    except ValueError:
        message = "An address is 0x and 40 hexadecimal digits."
        raise WalletError(message) from None


def _units(text: str) -> int:
    try:
        units = Decimal(text.strip()) * 10**DECIMALS
    except (InvalidOperation, Overflow):
        units = Decimal(0)
    is_sound = units.is_finite() and 0 < units < 10**18
    if not is_sound or units != units.to_integral_value():
        message = "An amount is a positive number with at most six decimals."
        raise WalletError(message)
    return int(units)
