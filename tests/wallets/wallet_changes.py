"""A merchant whose owners ask for another receiving wallet."""

import secrets
from datetime import timedelta

from accounts.audit.actors import Actor
from accounts.models import Merchant
from accounts.states import Role
from tests.dashboard.people import make_member
from tests.factories import NOON, WALLET, make_merchant, make_wallet
from wallets.forwarders.addresses import checksum
from wallets.models import ReceivingWallet, WalletChange
from wallets.receiving.changes import request_wallet

OTHER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
DUE = NOON + timedelta(hours=24)


def new_address() -> str:
    """A fresh address on EVM chains."""
    return checksum(secrets.token_bytes(20))


def make_owned_merchant(address: str = WALLET) -> Merchant:
    """A merchant with two owners, one admin, and a wallet on Ethereum."""
    merchant = make_merchant()
    for role in (Role.OWNER, Role.OWNER, Role.ADMIN):
        make_member(merchant, role)
    make_wallet(merchant, "ethereum", address)
    return merchant


def ask(merchant: Merchant, address: str = OTHER, chain: str = "ethereum") -> ReceivingWallet | WalletChange:
    """Ask for a wallet at noon, as the first owner."""
    actor = merchant.memberships.filter(role=Role.OWNER).order_by("pk")[0].user
    return request_wallet(merchant, chain=chain, address=address, actor=Actor(actor, address="203.0.113.9"), now=NOON)


def ask_for_change(merchant: Merchant, address: str = OTHER) -> WalletChange:
    """Ask for another wallet, which waits."""
    change = ask(merchant, address)
    assert isinstance(change, WalletChange)
    return change
