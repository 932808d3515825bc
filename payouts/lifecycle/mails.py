"""The mail with the link to a claim page. Its text is made when it is sent, so that no stored mail holds a link."""

from datetime import datetime
from typing import Final

from accounts.models import Membership
from accounts.states import Mode
from gateway.core.api.errors import InvalidRequestError, RateLimitError
from gateway.core.api.rate_limits import Limit, hit
from gateway.core.money import readable_units
from mails.outbox import queue_unwritten
from mails.words import MailWords
from payouts.lifecycle.claims import claim_code, claim_url
from payouts.models import Payout
from payouts.states import PayoutKind, PayoutStatus
from wallets.networks import chain_title, decimals_of

# So that no stranger is flooded.
PER_MERCHANT: Final = Limit("claim.mail.merchant", 60, seconds=3_600)
PER_RECIPIENT: Final = Limit("claim.mail.recipient", 10, seconds=86_400)
_OUTSIDE_TEAM: Final = "In test mode, links go only to e-mail addresses of your team."


def mail_claim(payout: Payout, *, now: datetime) -> None:
    """Queue the mail with a payout's link to its recipient, in the caller's transaction; nothing without an address.

    Raises InvalidRequestError in test mode for addresses outside the team, and RateLimitError.
    """
    if not payout.email:
        return
    member = Membership.objects.filter(merchant=payout.merchant_id, user__email__iexact=payout.email)
    if payout.mode == Mode.TEST and not member.exists():
        raise InvalidRequestError(_OUTSIDE_TEAM, param="email")
    for limit, who in ((PER_MERCHANT, str(payout.merchant_id)), (PER_RECIPIENT, payout.email.lower())):
        state = hit(limit, f"{payout.merchant_id}:{who}", now=now.timestamp())
        if state.exceeded:
            raise RateLimitError(max(1, state.reset - int(now.timestamp())))
    queue_unwritten([(f"claim:{payout.public_id}", payout.email)], now=now)


def claim_words(public_id: str) -> MailWords | None:
    """Return the mail's text; None once the link takes no address, or if no key derives it."""
    payout = Payout.objects.select_related("merchant").filter(public_id=public_id, status=PayoutStatus.OPEN).first()
    code = claim_code(payout) if payout else None
    if payout is None or code is None or payout.claim_until is None:
        return None
    name = payout.merchant.shown_name
    amount = f"{readable_units(int(payout.units), decimals_of(payout.chain, payout.token))} {payout.token}"
    what = "a refund" if payout.kind == PayoutKind.REFUND else "a payment"
    reason = f"{payout.reason}\n\n" if payout.reason else ""
    where = (
        "It goes only to the address that you paid from. Sign a message with that wallet, until"
        if payout.requires_proof
        else "Say which of your addresses it goes to, until"
    )
    text = (
        f"{name} has {what} of {amount} for you, on {chain_title(payout.chain)}.\n\n{reason}"
        f"{where} {payout.claim_until:%-d %B %Y}:\n{claim_url(code)}\n\n"
        "Keep this link to yourself: who has it can give another address. You never pay anything or enter a secret phrase to "
        f"get this money.\n\nYou received this email because {name} gave us your address. We do not read replies."
    )
    is_test = "" if payout.mode == Mode.LIVE else "Test mode, no real money: "
    return MailWords(f"{is_test}{amount} from {name}", text)
