"""Where payouts may go, and what chains say of it: asked before an address is stored, and again before it is approved or handed out.

Nodes are asked in no transaction. An answer is a value (`Recipient`), which the transaction that stores the address takes over. Where no
node answers, the address is stored as one of which nothing is known, and whoever approves it reads that.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import transaction

from accounts.audit.service import record
from accounts.states import Mode
from gateway.core.api.errors import InvalidRequestError, UnavailableError
from gateway.core.api.rate_limits import Limit, hit
from gateway.core.texts import pgettext_noop
from payouts.models import OBJECTION_LENGTH, Payout
from payouts.states import UNHANDED, PayoutStatus
from wallets.models import ReceivingWallet
from wallets.networks import chains
from wallets.receiving.inspection import ROUND_SECONDS, InspectionRound, in_turn
from wallets.receiving.service import named_chain, typed_address, usable_address
from wallets.selectors import chain_statuses
from wallets.states import ChainStatus

LIST_SECONDS: Final = 10.0
"""How long all questions about a list of addresses take together."""

_SECONDS: Final = 4.0
"""How long all questions about one address take together."""

LONGEST_ADDRESS: Final = 100
"""How many characters are looked at as an address."""

_ASKED: Final = Limit("payout.recipient", 30)
_AT_ONCE: Final = 500

Place = tuple[str, str]
"""A chain and an address on it, in any spelling."""


@dataclass(frozen=True, slots=True)
class Recipient:
    """What a chain said of an address in canonical form.

    `contract_on` is the chain on which it is a contract wallet, this one or another; empty for a key's own account. `objection` is the
    sentence that says why nobody may be paid there; empty if somebody may.
    """

    chain: str
    address: str
    contract_on: str = ""
    objection: str = ""


def payable_address(merchant_id: int, chain: str, address: str) -> str:
    """Return an address that a merchant may pay, in canonical form. No node is asked.

    Raises InvalidRequestError (chain_unsupported, address_invalid), and (address_forbidden) for a token contract that we know, a burn
    address, the network's or our own contracts, a deposit address, and where the merchant itself receives.
    """
    spec = named_chain(chain)
    canonical = typed_address(spec, address)
    try:
        usable_address(chain, canonical)
    except InvalidRequestError as error:
        raise _forbidden(error.message) from error
    key = spec.family.address_key(canonical)
    if ReceivingWallet.objects.filter(merchant=merchant_id, chain=chain, key=key, retired_at=None).exists():
        raise _forbidden(pgettext_noop("team", "The address is your own receiving wallet."))
    return canonical


def ask_recipient(place: Place, *, mode: str, asker: str, now: datetime) -> Recipient | None:
    """Return what a chain says of an address; None if no node answers in a few seconds, or `asker` asked too often.

    In test mode no chain is asked. Hold no transaction. What is no address at all, or one that we know as forbidden, is left to whoever
    stores it.
    """
    if not _is_asked(mode, *place) or hit(_ASKED, asker, now=now.timestamp()).exceeded:
        return None
    return ask_recipients([place], mode=mode, seconds=_SECONDS).get(place)


def ask_recipients(places: Iterable[Place], *, mode: str, seconds: float = LIST_SECONDS) -> dict[Place, Recipient]:
    """Return what chains say of addresses, as far as nodes answer within so many seconds. Hold no transaction."""
    asked = [place for place in dict.fromkeys(places) if _is_asked(mode, *place)]
    said = {}
    with InspectionRound(seconds=seconds) as inspections:
        for place in asked:
            if inspections.is_over:
                break
            if (found := _ask(inspections, *place)) is not None:
                said[place] = found
    return said


def _is_asked(mode: str, chain: str, address: str) -> bool:
    """Whether a chain can be asked about a text, which may be none of its addresses."""
    spec = chains().get(chain)
    is_text = address.isascii() and address.isprintable() and 0 < len(address) <= LONGEST_ADDRESS
    return mode == Mode.LIVE and spec is not None and bool(spec.rpc_urls) and is_text


def _ask(inspections: InspectionRound, chain: str, address: str) -> Recipient | None:
    try:
        canonical = usable_address(chain, address)
    except InvalidRequestError:
        return None
    try:
        found = inspections.inspect(chain, canonical)
    except UnavailableError:
        return None
    except InvalidRequestError as error:
        return Recipient(chain, canonical, objection=error.message[:OBJECTION_LENGTH])
    return Recipient(chain, canonical, contract_on=found.contract_on)


def take_over(payout: Payout, recipient: Recipient | None, *, now: datetime) -> None:
    """Set what a chain said of the address that a payout has now; nothing, if it was asked about another one, or not at all.

    Raises InvalidRequestError (address_forbidden) if the address would lose the money.
    """
    said = recipient if recipient is not None and _is_of(recipient, payout) else None
    if said is not None and said.objection:
        raise _forbidden(said.objection)
    payout.inspected_at = None if said is None else now
    payout.contract_on = "" if said is None else said.contract_on
    payout.objection = ""


def is_unknown(payout: Payout) -> bool:
    """Whether a chain has to be asked about a payout's address: it never answered, or said that it loses the money."""
    waits = payout.mode == Mode.LIVE and payout.status in UNHANDED
    return waits and (payout.inspected_at is None or bool(payout.objection))


def ask_again(payouts: Iterable[Payout], *, seconds: float = _SECONDS, now: datetime) -> set[int]:
    """Ask chains about the unknown addresses among those of payouts, and store what they say.

    Return the keys of payouts of which people have not seen it (see `learn`). Hold no transaction.
    """
    asked = [one for one in payouts if is_unknown(one)]
    if not asked:
        return set()
    said = ask_recipients([(one.chain, one.address) for one in asked], mode=Mode.LIVE, seconds=seconds)
    found = [(one, said.get((one.chain, one.address))) for one in asked]
    return {one.pk for one, recipient in found if recipient is not None and learn(one, recipient, now=now)}


@transaction.atomic
def learn(payout: Payout, recipient: Recipient, *, now: datetime) -> bool:
    """Store what a chain said of a payout's address; return whether that is a warning or an objection which people have not seen.

    Then the payout has a new revision and waits for approval: nobody's approval from before counts. What was said of an address that the
    payout no longer has, or that was handed out to be paid, changes nothing.
    """
    held = Payout.objects.locked().select_related("merchant").get(pk=payout.pk)
    if held.status not in UNHANDED or not _is_of(recipient, held):
        return False
    before = (held.contract_on, held.objection)
    held.inspected_at, held.contract_on, held.objection = now, recipient.contract_on, recipient.objection
    after = (held.contract_on, held.objection)
    is_news = any(after) and after != before
    if is_news:
        held.revision += 1
        if held.status == PayoutStatus.APPROVED:
            held.status, held.approved_at = PayoutStatus.REQUESTED, None
        _audit(held, now)
    held.save(update_fields=["inspected_at", "contract_on", "objection", "revision", "status", "approved_at"])
    return is_news


def review_recipients(*, now: datetime) -> int:
    """Ask about addresses of which no node has said anything yet; return of how many people have to look again."""
    read = [chain for chain, status in chain_statuses(now=now).items() if status != ChainStatus.DOWN]
    due = Payout.objects.filter(mode=Mode.LIVE, status__in=UNHANDED, inspected_at=None, chain__in=read)
    found = list(due.order_by("pk")[:_AT_ONCE])
    return len(ask_again(in_turn(found, now=now), seconds=ROUND_SECONDS, now=now))


def _is_of(recipient: Recipient, payout: Payout) -> bool:
    return (recipient.chain, recipient.address) == (payout.chain, payout.address)


def _forbidden(message: str) -> InvalidRequestError:
    return InvalidRequestError(message, param="address", code="address_forbidden")


def _audit(payout: Payout, now: datetime) -> None:
    said = {"contract_on": payout.contract_on, "objection": payout.objection}
    after = {"address": payout.address, "revision": payout.revision} | {
        name: text for name, text in said.items() if text
    }
    record(payout.merchant, action="payout.address_doubted", object_id=payout.public_id, after=after, now=now)
