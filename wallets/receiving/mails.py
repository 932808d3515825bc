"""Mails to owners about receiving wallets."""

from datetime import datetime

from django.conf import settings
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.audit.actors import Actor
from accounts.team.service import mail_owners
from gateway.core.texts import Lazy, Spoken
from wallets.models import ReceivingWallet, WalletChange
from wallets.networks import chain_spec, shown_address
from wallets.states import ClaimKind

_REQUESTED = _("""{actor} asked for another receiving wallet of {merchant} on {chain}.

Now: {before}
Then: {after}

It takes effect at {at:%Y-%m-%d %H:%M} UTC. If you did not expect this, cancel it before then; any owner can:
{dashboard}
""")
_AWAITED = _("""{actor} proved that {merchant} holds the key of another receiving wallet on {chain}.

Now: {before}
Then: {after}

It takes effect once earlier payments to this wallet have run out, not before {at:%Y-%m-%d %H:%M} UTC. If you did not expect
this, cancel it before then; any owner can:
{dashboard}
""")
_TAKEN_OVER = _("""{merchant} receives no new checkouts at this wallet on {chain} any more:

{address}

Somebody signed a message with the key of this wallet, which proves that they hold it. Payments for checkouts that you made
before are still credited to you.

If you hold the key too, add the wallet again and sign a message with it. If you do not, add a wallet of your own:
{dashboard}
""")
_REFUSED = _("""{merchant} can receive no new payments on {chain} at this wallet any more:

{address}

{objection}

It was stored before we asked networks what an address is, or has changed since. New checkouts no longer offer {chain}, and
machines no longer pay there. Cancel open checkouts that still show it, and look for what arrived there before: we hold no
key, and cannot bring it back.

Add a wallet whose key you hold:
{dashboard}
""")
_DOUBTED = _("""{merchant} receives on {chain} at this wallet:

{address}

{objection}

We cannot tell whether you can move what arrives there, so it goes on being offered. Check that you can. If you cannot, add a
wallet whose key you hold, before more payments arrive:
{dashboard}
""")
_IS_CONTRACT = _("""{merchant} receives on {chain} at this wallet:

{address}

{objection}

It was stored before we asked networks what an address is. If you control it there, there is nothing to do. If you do not, add
another wallet, before more payments arrive:
{dashboard}
""")
_APPLIED = _("""{merchant} receives at another wallet on {chain} now:

{after}

{actor} asked for it. Make a checkout of 0.10 USD and pay it from another wallet, to see the money arrive.

{dashboard}
""")
_FAILED = _("""The receiving wallet of {merchant} on {chain} was to become

{after}

That was refused: {failure}
You go on receiving at the wallet you had. Ask for the change again if you still want it:
{dashboard}
""")
_FIRST = _("""{actor} set the first receiving wallet of {merchant} on {chain}:

{after}

If you did not expect this, put your own address there:
{dashboard}
""")
_MACHINES = _("""{actor} set the wallet that machines pay {merchant} at (x402) on {chain}:

Now: {after}
Before: {before}

If you did not expect this, put your own address there:
{dashboard}
""")


def tell_requested(change: WalletChange, *, before: str | None, is_awaited: bool, now: datetime) -> None:
    """Mail all owners about a pending change, and how to cancel it.

    `is_awaited` says that it waits for payments to others as well.
    """
    subject = format_lazy(_("A new {chain} wallet was asked for"), chain=_network(change))
    words = _AWAITED if is_awaited else _REQUESTED
    text = format_lazy(words, **_facts(change), before=_shown(before), at=change.effective_at)
    _mail(change, "requested", subject, text, now)


def tell_applied(change: WalletChange, *, now: datetime) -> None:
    """Mail all owners that a change has taken effect."""
    subject = format_lazy(_("You receive at a new {chain} wallet"), chain=_title(change.chain))
    _mail(change, "applied", subject, format_lazy(_APPLIED, **_facts(change)), now)


def tell_failed(change: WalletChange, *, now: datetime) -> None:
    """Mail all owners that a due change was refused."""
    subject = format_lazy(_("Your {chain} wallet was not changed"), chain=_network(change))
    text = format_lazy(_FAILED, **_facts(change), failure=change.failure)
    _mail(change, "failed", subject, text, now)


def tell_first(wallet: ReceivingWallet, *, actor: Actor, now: datetime) -> None:
    """Mail all owners about the first wallet on a chain."""
    merchant = wallet.merchant
    mail_owners(
        merchant.pk,
        key=f"wallet:{wallet.pk}:first",
        subject=format_lazy(_("You receive on {chain} now"), chain=_title(wallet.chain)),
        text=format_lazy(
            _FIRST,
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
        subject=format_lazy(_("Your {chain} wallet was taken over"), chain=_title(wallet.chain)),
        text=format_lazy(
            _TAKEN_OVER,
            merchant=merchant.name,
            chain=_title(wallet.chain),
            address=_shown(wallet.address),
            dashboard=_dashboard(),
        ),
        now=now,
    )


def tell_refused(wallet: ReceivingWallet, *, now: datetime) -> None:
    """Mail all owners that a wallet loses what it receives, and is offered no more."""
    subject = format_lazy(_("Your {chain} wallet loses what it receives"), chain=_title(wallet.chain))
    _mail_about(wallet, "refused", subject, _REFUSED, wallet.objection, now)


def tell_doubted(wallet: ReceivingWallet, *, now: datetime) -> None:
    """Mail all owners, once, that a wallet may lose what it receives."""
    subject = format_lazy(_("Check your {chain} wallet: it may lose what it receives"), chain=_title(wallet.chain))
    _mail_about(wallet, "doubted", subject, _DOUBTED, wallet.objection, now)


def tell_contract(wallet: ReceivingWallet, *, warning: Spoken, now: datetime) -> None:
    """Mail all owners, once, that a wallet stored long ago is a contract."""
    subject = format_lazy(_("Your {chain} wallet is a contract"), chain=_title(wallet.chain))
    _mail_about(wallet, "contract", subject, _IS_CONTRACT, warning, now)


def _mail_about(
    wallet: ReceivingWallet, what: str, subject: Lazy, words: Lazy, objection: Spoken, now: datetime
) -> None:
    text = format_lazy(
        words,
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
        subject=format_lazy(_("Machines pay you at a new {chain} wallet"), chain=_title(wallet.chain)),
        text=format_lazy(
            _MACHINES,
            actor=actor.name,
            merchant=merchant.name,
            chain=_title(wallet.chain),
            after=_shown(wallet.address),
            before=_shown(before),
            dashboard=_dashboard(),
        ),
        now=now,
    )


def _mail(change: WalletChange, what: str, subject: Lazy, text: Lazy, now: datetime) -> None:
    mail_owners(change.merchant_id, key=f"wallet-change:{change.pk}:{what}", subject=subject, text=text, now=now)


def _facts(change: WalletChange) -> dict[str, Spoken]:
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


def _shown(address: str | None) -> Spoken:
    return shown_address(address) if address else _("none")


def _title(chain: str) -> str:
    return chain_spec(chain).title


def _dashboard() -> str:
    return f"{settings.BASE_URL}/dashboard/"
