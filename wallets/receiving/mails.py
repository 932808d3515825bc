"""Mails to owners about receiving wallets."""

from datetime import datetime

from django.conf import settings

from accounts.audit.actors import Actor
from accounts.team.service import mail_owners
from wallets.models import ReceivingWallet, WalletChange
from wallets.networks import chain_spec, shown_address
from wallets.states import ClaimKind

_REQUESTED = """{actor} asked for another receiving wallet of {merchant} on {chain}.

Now: {before}
Then: {after}

It takes effect at {at:%Y-%m-%d %H:%M} UTC. If you did not expect this, cancel it before then; any owner can:
{dashboard}
"""
_AWAITED = """{actor} proved that {merchant} holds the key of another receiving wallet on {chain}.

Now: {before}
Then: {after}

It takes effect once earlier payments to this wallet have run out, not before {at:%Y-%m-%d %H:%M} UTC. If you did not expect
this, cancel it before then; any owner can:
{dashboard}
"""
_TAKEN_OVER = """{merchant} receives no new checkouts at this wallet on {chain} any more:

{address}

Somebody signed a message with the key of this wallet, which proves that they hold it. Payments for checkouts that you made
before are still credited to you.

If you hold the key too, add the wallet again and sign a message with it. If you do not, add a wallet of your own:
{dashboard}
"""
_REFUSED = """{merchant} can receive no new payments on {chain} at this wallet any more:

{address}

{objection}

It was stored before we asked networks what an address is, or has changed since. New checkouts no longer offer {chain}, and
machines no longer pay there. Cancel open checkouts that still show it, and look for what arrived there before: we hold no
key, and cannot bring it back.

Add a wallet whose key you hold:
{dashboard}
"""
_DOUBTED = """{merchant} receives on {chain} at this wallet:

{address}

{objection}

We cannot tell whether you can move what arrives there, so it goes on being offered. Check that you can. If you cannot, add a
wallet whose key you hold, before more payments arrive:
{dashboard}
"""
_IS_CONTRACT = """{merchant} receives on {chain} at this wallet:

{address}

{objection}

It was stored before we asked networks what an address is. If you control it there, there is nothing to do. If you do not, add
another wallet, before more payments arrive:
{dashboard}
"""
_APPLIED = """{merchant} receives at another wallet on {chain} now:

{after}

{actor} asked for it. Make a checkout of 0.10 USD and pay it from another wallet, to see the money arrive.

{dashboard}
"""
_FAILED = """The receiving wallet of {merchant} on {chain} was to become

{after}

That was refused: {failure}
You go on receiving at the wallet you had. Ask for the change again if you still want it:
{dashboard}
"""
_FIRST = """{actor} set the first receiving wallet of {merchant} on {chain}:

{after}

If you did not expect this, put your own address there:
{dashboard}
"""
_MACHINES = """{actor} set the wallet that machines pay {merchant} at (x402) on {chain}:

Now: {after}
Before: {before}

If you did not expect this, put your own address there:
{dashboard}
"""


def tell_requested(change: WalletChange, *, before: str | None, is_awaited: bool, now: datetime) -> None:
    """Mail all owners about a pending change, and how to cancel it.

    `is_awaited` says that it waits for payments to others as well.
    """
    subject = f"A new {_network(change)} wallet was asked for"
    words = _AWAITED if is_awaited else _REQUESTED
    text = words.format(**_facts(change), before=_shown(before), at=change.effective_at)
    _mail(change, "requested", subject, text, now)


def tell_applied(change: WalletChange, *, now: datetime) -> None:
    """Mail all owners that a change has taken effect."""
    subject = f"You receive at a new {_title(change.chain)} wallet"
    _mail(change, "applied", subject, _APPLIED.format(**_facts(change)), now)


def tell_failed(change: WalletChange, *, now: datetime) -> None:
    """Mail all owners that a due change was refused."""
    subject = f"Your {_network(change)} wallet was not changed"
    text = _FAILED.format(**_facts(change), failure=change.failure)
    _mail(change, "failed", subject, text, now)


def tell_first(wallet: ReceivingWallet, *, actor: Actor, now: datetime) -> None:
    """Mail all owners about the first wallet on a chain."""
    merchant = wallet.merchant
    mail_owners(
        merchant.pk,
        key=f"wallet:{wallet.pk}:first",
        subject=f"You receive on {_title(wallet.chain)} now",
        text=_FIRST.format(
            actor=actor.name,
            merchant=merchant.name,
            chain=_title(wallet.chain),
            after=_shown(wallet.address),
            dashboard=_dashboard(),
        ),
        now=now,
    )


def tell_taken_over(wallet: ReceivingWallet, *, now: datetime) -> None:
    """Mail all owners that another merchant proved a wallet's key, without naming it."""
    merchant = wallet.merchant
    mail_owners(
        merchant.pk,
        key=f"wallet:{wallet.pk}:taken",
        subject=f"Your {_title(wallet.chain)} wallet was taken over",
        text=_TAKEN_OVER.format(
            merchant=merchant.name, chain=_title(wallet.chain), address=_shown(wallet.address), dashboard=_dashboard()
        ),
        now=now,
    )


def tell_refused(wallet: ReceivingWallet, *, now: datetime) -> None:
    """Mail all owners that a wallet loses what it receives, and is offered no more."""
    subject = f"Your {_title(wallet.chain)} wallet loses what it receives"
    _mail_about(wallet, "refused", subject, _REFUSED, wallet.objection, now)


def tell_doubted(wallet: ReceivingWallet, *, now: datetime) -> None:
    """Mail all owners, once, that a wallet may lose what it receives."""
    subject = f"Check your {_title(wallet.chain)} wallet: it may lose what it receives"
    _mail_about(wallet, "doubted", subject, _DOUBTED, wallet.objection, now)


def tell_contract(wallet: ReceivingWallet, *, warning: str, now: datetime) -> None:
    """Mail all owners, once, that a wallet stored long ago is a contract."""
    subject = f"Your {_title(wallet.chain)} wallet is a contract"
    _mail_about(wallet, "contract", subject, _IS_CONTRACT, warning, now)


def _mail_about(wallet: ReceivingWallet, what: str, subject: str, words: str, objection: str, now: datetime) -> None:
    text = words.format(
        merchant=wallet.merchant.name,
        chain=_title(wallet.chain),
        address=_shown(wallet.address),
        objection=objection,
        dashboard=_dashboard(),
    )
    mail_owners(wallet.merchant_id, key=f"wallet:{wallet.pk}:{what}", subject=subject, text=text, now=now)


def tell_machine_wallet(wallet: ReceivingWallet, *, actor: Actor, before: str | None, now: datetime) -> None:
    """Mail all owners that machines now pay another wallet."""
    merchant = wallet.merchant
    mail_owners(
        merchant.pk,
        key=f"wallet:{wallet.pk}:machines",
        subject=f"Machines pay you at a new {_title(wallet.chain)} wallet",
        text=_MACHINES.format(
            actor=actor.name,
            merchant=merchant.name,
            chain=_title(wallet.chain),
            after=_shown(wallet.address),
            before=_shown(before),
            dashboard=_dashboard(),
        ),
        now=now,
    )


def _mail(change: WalletChange, what: str, subject: str, text: str, now: datetime) -> None:
    mail_owners(change.merchant_id, key=f"wallet-change:{change.pk}:{what}", subject=subject, text=text, now=now)


def _facts(change: WalletChange) -> dict[str, str]:
    return {
        "actor": change.requested_by.email,
        "merchant": change.merchant.name,
        "chain": _network(change),
        "after": _shown(change.address),
        "dashboard": _dashboard(),
    }


def _network(change: WalletChange) -> str:
    machines = " (x402)" if change.purpose == ClaimKind.X402 else ""
    return _title(change.chain) + machines


def _shown(address: str | None) -> str:
    return shown_address(address) if address else "none"


def _title(chain: str) -> str:
    return chain_spec(chain).title


def _dashboard() -> str:
    return f"{settings.BASE_URL}/dashboard/"
