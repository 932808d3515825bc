"""Reads gas accounts' balances, and warns operators of low ones: in wei on EVM chains, in lamports on Solana."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

import structlog
from django.db import transaction

from accounts.team.operators import mail_operators
from settlements.errors import NoCoinError
from settlements.gas.fees import COIN, gas_policy, low_coins
from settlements.gas.keys import gas_keys, solana_gas_keys
from settlements.gas.ledger import refuse_unpayable
from settlements.gas.node import GasNode
from settlements.gas.nonces import TELL_EVERY, follow_chain
from settlements.models import GasAccount
from wallets.chains.family import ChainSpec
from wallets.chains.registry import open_pool
from wallets.chains.rpc.pool import RpcPool
from wallets.chains.solana import decode
from wallets.networks import chain_spec

log = structlog.get_logger(__name__)
# How old the balance of an account that cannot pay may be.
_READ_AGAIN: Final = timedelta(seconds=5)

GAS_MAIL: Final = "gas:"
"""How the keys of mails about low gas begin. Notices on devices follow these mails."""
_LAMPORTS_PER_SOL: Final = 10**9
_MOST_LAMPORTS: Final = 2**64 - 1


def refresh_balances(chain: str, *, node: GasNode, now: datetime) -> None:
    """Read the balances of a chain's gas accounts, check for nonces used elsewhere, and warn of low balances.

    Raises ChainError.
    """
    for address in gas_keys():
        GasAccount.objects.get_or_create(chain=chain, address=address)
    final = node.height() - chain_spec(chain).confirmations + 1
    for account in GasAccount.objects.filter(chain=chain):
        note_balance(account, node=node, now=now)
        # Only final transactions count: a nonce that a reorg frees again would leave a gap that blocks all later ones.
        if final >= 0 and account.next_nonce is not None:
            follow_chain(account.pk, node=node, height=final, now=now)


def note_balance(account: GasAccount, *, node: GasNode, now: datetime) -> None:
    """Read an account's balance, and warn operators if it is low. Raises ChainError."""
    _note(account.pk, node.balance(account.address), now)


def expect_gas(chain: str, gas: int, *, node: GasNode, now: datetime, sender: str = "") -> None:
    """Raise NoGasError if a transaction with so much gas could not be paid for now, as `intend` would. Raises ChainError.

    `sender` is the only account that may pay; "" for any. A balance that was never read is read. One that is too low is read
    again after some seconds: it may have been topped up.
    """
    prices, accounts = node.prices(), _accounts(chain, sender)
    for account in accounts:
        if account.balance_at is None:
            note_balance(account, node=node, now=now)
            account.refresh_from_db()
    try:
        refuse_unpayable(accounts, gas, prices, now=now)
    except NoCoinError:
        if not _read_again(accounts, node=node, now=now):
            raise
        refuse_unpayable(_accounts(chain, sender), gas, prices, now=now)


def _accounts(chain: str, sender: str) -> Sequence[GasAccount]:
    """Return the accounts that may pay on a chain, also of keys that were not used there yet; with `sender` only that one."""
    keys = gas_keys()
    known = list(GasAccount.objects.filter(chain=chain, address__in=keys))
    for address in sorted(set(keys) - {one.address for one in known}):
        known += [GasAccount.objects.get_or_create(chain=chain, address=address)[0]]
    return [one for one in known if one.retired_at is None and sender in ("", one.address)]


def _read_again(accounts: Sequence[GasAccount], *, node: GasNode, now: datetime) -> bool:
    """Read balances that are some seconds old; return whether there are any."""
    old = [one for one in accounts if _is_old(one, now)]
    for account in old:
        note_balance(account, node=node, now=now)
    return bool(old)


def _is_old(account: GasAccount, now: datetime) -> bool:
    return account.balance_at is None or now - account.balance_at > _READ_AGAIN


@transaction.atomic
def _note(account_id: int, balance: int, now: datetime) -> None:
    account = GasAccount.objects.select_for_update(no_key=True).get(pk=account_id)
    account.balance_wei, account.balance_at = Decimal(balance), now
    is_low = balance < gas_policy(account.chain).low and account.retired_at is None
    if is_low and _is_untold(account, now):
        _tell_operators(account, now)
        account.low_told_at = now
    account.save(update_fields=["balance_wei", "balance_at", "low_told_at"])


def _is_untold(account: GasAccount, now: datetime) -> bool:
    return account.low_told_at is None or now - account.low_told_at >= TELL_EVERY


def _tell_operators(account: GasAccount, now: datetime) -> None:
    title = chain_spec(account.chain).title
    coins = Decimal(account.balance_wei or 0) / COIN
    log.warning("gas runs low", chain=account.chain, account=account.address)
    mail_operators(
        f"{GAS_MAIL}{account.pk}:{now:%Y%m%dT%H%M%S}",
        subject=f"Gas runs low on {title}",
        text=f"{account.address} holds {coins:.6f} of {title}'s coin. Without enough for gas, nothing is settled "
        "there and payments by signed authorisation are refused.\n\n"
        "Send coin to it. No payment is lost: money waits in its forwarders.\n",
        now=now,
    )


def refresh_solana_balances(spec: ChainSpec, *, now: datetime) -> None:
    """Read our accounts' balances on a chain, and warn operators of low ones. Raises ChainError."""
    low = low_coins(spec.name) * _LAMPORTS_PER_SOL
    pool = open_pool(spec)
    try:
        for address in solana_gas_keys():
            held = _lamports(pool, address)
            if held < low:
                _tell_of_few_lamports(spec, address, held, now)
    finally:
        pool.close()


def _lamports(pool: RpcPool, address: str) -> int:
    answer = pool.call("getBalance", [address, {"commitment": "confirmed"}])
    return decode.integer(decode.in_context(answer)[1], most=_MOST_LAMPORTS)


@transaction.atomic
def _tell_of_few_lamports(spec: ChainSpec, address: str, held: int, now: datetime) -> None:
    log.warning("gas runs low", chain=spec.name, account=address)
    # Once a day (UTC).
    mail_operators(
        f"{GAS_MAIL}{spec.name}:{address}:{now:%Y%m%d}",
        subject=f"Gas runs low on {spec.title}",
        text=f"{address} holds {Decimal(held) / _LAMPORTS_PER_SOL:.6f} of {spec.title}'s coin. Below what transactions cost, machines' "
        f"payments by signed authorisation are not carried out on {spec.title}.\n\n"
        "Send SOL to it. No money is lost meanwhile: payers keep theirs.\n",
        now=now,
    )
