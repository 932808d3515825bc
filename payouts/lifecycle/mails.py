"""Mails to who receives a payout: the link to its claim page, and that it was paid. No stored mail holds a link: texts are made when
they are sent.
"""

from datetime import datetime
from typing import Final

from accounts.models import Membership
from accounts.states import Mode
from gateway.core.api.errors import InvalidRequestError, RateLimitError
from gateway.core.api.rate_limits import Limit, hit
from gateway.core.money import readable_units
from gateway.core.texts import pgettext_noop
from mails.outbox import queue_unwritten
from mails.words import MailWords
from payouts.lifecycle.claims import claim_code, claim_url
from payouts.models import Payout
from payouts.states import PayoutException, PayoutKind, PayoutStatus
from wallets.networks import chain_spec, chain_title, decimals_of, shown_address

# So that no stranger is flooded.
PER_MERCHANT: Final = Limit("claim.mail.merchant", 60, seconds=3_600)
PER_RECIPIENT: Final = Limit("claim.mail.recipient", 10, seconds=86_400)
_OUTSIDE_TEAM: Final = pgettext_noop("team", "In test mode, links go only to e-mail addresses of your team.")
_PAID: Final = "paid"
"""Part of the key of a mail that says that it was paid. Its writer is that of links, which says nothing of it in older releases."""


def mail_claim(payout: Payout, *, now: datetime) -> None:
    """Queue the mail with a payout's link to its recipient, in the caller's transaction; nothing without an address.

    Raises InvalidRequestError in test mode for addresses outside the team, and RateLimitError.
    """
    if not payout.email:
        return
    if not _may_be_mailed(payout):
        raise InvalidRequestError(_OUTSIDE_TEAM, param="email")
    for limit, who in ((PER_MERCHANT, str(payout.merchant_id)), (PER_RECIPIENT, payout.email.lower())):
        state = hit(limit, f"{payout.merchant_id}:{who}", now=now.timestamp())
        if state.exceeded:
            raise RateLimitError(max(1, state.reset - int(now.timestamp())))
    queue_unwritten([(f"claim:{payout.public_id}", payout.email)], now=now)


def promise_paid(payout: Payout, *, now: datetime) -> None:
    """Queue the mail that says that a payout was paid, once for ever, in the caller's transaction; nothing without an address."""
    if payout.email and _may_be_mailed(payout):
        queue_unwritten([(f"claim:{payout.public_id}:{_PAID}", payout.email)], now=now)


def _may_be_mailed(payout: Payout) -> bool:
    """Return whether a payout's recipient gets mail: in test mode only a member of the team does."""
    member = Membership.objects.filter(merchant=payout.merchant_id, user__email__iexact=payout.email)
    return payout.mode == Mode.LIVE or member.exists()


def claim_words(subject: str) -> MailWords | None:
    """Return a mail's text, from the rest of its key: a payout's public id, and `:paid` once it is.

    None once the link takes no address, if no key derives it, or while the network has taken the money back.
    """
    public_id, _, what = subject.partition(":")
    found = Payout.objects.select_related("merchant", "movement").filter(public_id=public_id).first()
    if found is None:
        return None
    if what:
        return _paid_words(found) if what == _PAID else None
    return _link_words(found)


def _link_words(payout: Payout) -> MailWords | None:
    code = claim_code(payout) if payout.status == PayoutStatus.OPEN else None
    if code is None or payout.claim_until is None:
        return None
    name, amount, reason = _facts_of(payout)
    what = "a refund" if payout.kind == PayoutKind.REFUND else "a payment"
    where = (
        "It goes only to the address that you paid from. Sign a message with that wallet, until"
        if payout.requires_proof
        else "Say which of your addresses it goes to, until"
    )
    text = (
        f"{name} has {what} of {amount} for you, on {chain_title(payout.chain)}.\n\n{reason}"
        f"{where} {payout.claim_until:%-d %B %Y}:\n{claim_url(code)}\n\n"
        "Keep this link to yourself: who has it can give another address. You never pay anything or enter a secret phrase to "
        f"get this money.\n\n{_foot(name)}"
    )
    return MailWords(f"{_test(payout)}{amount} from {name}", text)


def _paid_words(payout: Payout) -> MailWords | None:
    movement = payout.movement
    if movement is None or payout.status != PayoutStatus.PAID or payout.exception == PayoutException.REVERSED:
        return None
    name, _, reason = _facts_of(payout)
    # What the network shows: a person may have accepted another amount as paid.
    amount = _amount(payout, int(movement.units))
    what = "refunded" if payout.kind == PayoutKind.REFUND else "sent"
    explorer = chain_spec(payout.chain).transaction_url(movement.tx_hash) if payout.mode == Mode.LIVE else None
    text = (
        f"{name} {what} {amount} to you, on {chain_title(payout.chain)}, and the network has confirmed it.\n\n{reason}"
        f"To:\n{shown_address(payout.address)}\n\nTransaction:\n{explorer or movement.tx_hash}\n\n"
        f"If your wallet does not show it, ask whoever runs the wallet or the exchange, and name the transaction.\n\n{_foot(name)}"
    )
    return MailWords(f"{_test(payout)}{name} {what} {amount}", text)


def _facts_of(payout: Payout) -> tuple[str, str, str]:
    """Return the merchant's name, the amount, and a paragraph with the reason, or none."""
    reason = f"{payout.reason}\n\n" if payout.reason else ""
    return payout.merchant.shown_name, _amount(payout, int(payout.units)), reason


def _amount(payout: Payout, units: int) -> str:
    return f"{readable_units(units, decimals_of(payout.chain, payout.token))} {payout.token}"


def _test(payout: Payout) -> str:
    return "" if payout.mode == Mode.LIVE else "Test mode, no real money: "


def _foot(name: str) -> str:
    return f"You received this email because {name} gave us your address. We do not read replies."
