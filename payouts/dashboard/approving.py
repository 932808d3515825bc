"""Approving many payouts at once: the list that a person reads, one confirmation, and what became of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext, ngettext

from accounts.audit.actors import actor_of
from accounts.states import Mode
from accounts.team.access import Seat, SeatedRequest, seated
from accounts.team.permissions import Act
from gateway.core.api.errors import ConflictError, InvalidRequestError, NotFoundError, RoleError
from gateway.core.web.form_errors import in_words, words_of
from payouts.approvals.reviews import MOST_AT_ONCE, Approved, LeftOut, approve_list, review
from payouts.approvals.service import needed_approvals
from payouts.dashboard.rows import PayoutRow, mine, pay_groups, payout_rows
from payouts.dashboard.second_factor import refuse_without_factor
from payouts.models import Payout
from payouts.states import SHOWN_DIGITS, PayoutStatus
from wallets.dashboard.rows import MarkedAddress, marked

_LONGEST_ID: Final = 40
_MOST_REVISION: Final = 2**31 - 1
# Between a payout's id and its revision.
_OF: Final = ":"


@dataclass(frozen=True, slots=True)
class ListedRow:
    """A payout of the list. `value` is posted: its id, and the revision of the address that is shown. `needed` people approve it.

    `is_proved` says that its recipient signed with the address's key.
    """

    row: PayoutRow
    value: str
    address: MarkedAddress
    kind: str
    needed: int
    is_proved: bool


@dataclass(frozen=True, slots=True)
class LeftOutRow:
    """A payout that is left out, and why."""

    row: PayoutRow
    why: str


@seated(post=Act.APPROVE_PAYOUTS, fresh=True)
def review_payouts(request: SeatedRequest) -> HttpResponse:
    """Show the payouts that were selected, or the oldest ones that wait, as one list to approve."""
    seat = request.seat
    if refusal := _refuse(request):
        return refusal
    waiting = mine(seat).select_related("merchant").filter(status=PayoutStatus.REQUESTED)
    total = 0
    if "all" in request.POST:
        total = waiting.count()
        chosen = list(waiting.order_by("pk")[:MOST_AT_ONCE])
    else:
        chosen = _selected(seat, request.POST.getlist("payout"))
    if not chosen:
        messages.error(request, gettext("Select the payouts that you want to approve."))
        return _to_list(seat)
    found = review(chosen, seat.user, now=timezone.now())
    context = {
        "listed": [_listed(payout, row) for payout, row in zip(found.listed, payout_rows(found.listed), strict=True)],
        "left_out": _left_out(found.left_out),
        "groups": pay_groups(found.listed),
        "digest": found.digest,
        "digest_shown": found.digest[:SHOWN_DIGITS],
        "later": max(0, total - len(chosen)),
    }
    return render(request, "dashboard/payouts/review.html", context)


@seated(post=Act.APPROVE_PAYOUTS, fresh=True)
def approve_payouts(request: SeatedRequest) -> HttpResponse:
    """Approve the list that the person saw, and name what was left out since: 409 then."""
    seat = request.seat
    if refusal := _refuse(request):
        return refusal
    shown, digest = _shown(request.POST.getlist("payout")), request.POST.get("digest", "")
    try:
        done = approve_list(
            seat.merchant, Mode(seat.mode), shown, digest=digest, actor=actor_of(request), now=timezone.now()
        )
    except NotFoundError as error:
        raise Http404 from error
    except (ConflictError, InvalidRequestError, RoleError) as error:
        messages.error(request, words_of(error))
        return _to_list(seat)
    if done.left_out:
        context = {"words": _words(done), "left_out": _left_out(done.left_out)}
        return render(request, "dashboard/payouts/reviewed.html", context, status=409)
    messages.success(request, _words(done))
    return HttpResponseRedirect(f"{seat.url('dashboard_payouts')}{'?status=pay' if done.approved else ''}")


def _refuse(request: SeatedRequest) -> HttpResponse | None:
    return refuse_without_factor(request) if request.seat.mode == Mode.LIVE else None


def _selected(seat: Seat, ids: Sequence[str]) -> list[Payout]:
    """Return payouts by their ids, oldest first. Raises Http404 for one that is not there, BadRequest for more than fit a list."""
    wanted = {text for text in ids if len(text) <= _LONGEST_ID and "\x00" not in text}
    if len(wanted) > MOST_AT_ONCE:
        raise BadRequest("A page of ours has fewer.")
    found = list(mine(seat).select_related("merchant").filter(public_id__in=wanted).order_by("pk"))
    if len(found) != len(set(ids)):
        raise Http404
    return found


def _shown(values: Iterable[str]) -> dict[str, int]:
    """Return the revisions that were shown, by the ids of their payouts. Raises BadRequest."""
    shown = {}
    for value in values:
        payout_id, _, revision = value.partition(_OF)
        if len(payout_id) > _LONGEST_ID or "\x00" in payout_id or not (revision.isascii() and revision.isdecimal()):
            raise BadRequest("A form of ours has ids with revisions.")
        shown[payout_id] = min(int(revision[:10]), _MOST_REVISION)
    return shown


def _listed(payout: Payout, row: PayoutRow) -> ListedRow:
    value = f"{payout.public_id}{_OF}{payout.revision}"
    return ListedRow(
        row,
        value,
        marked(payout.address),
        payout.get_kind_display(),
        needed=needed_approvals(payout),
        is_proved=payout.proved_at is not None,
    )


def _left_out(found: Sequence[LeftOut]) -> list[LeftOutRow]:
    rows = payout_rows([one.payout for one in found])
    return [LeftOutRow(row, in_words(one.why)) for row, one in zip(rows, found, strict=True)]


def _words(done: Approved) -> str:
    """Return in words what was approved."""
    told = []
    if done.approved:
        count = len(done.approved)
        words = ngettext(
            "%(count)s approved. Pay it under To pay.", "%(count)s approved. Pay them under To pay.", count
        )
        told.append(words % {"count": count})
    if done.waiting:
        told.append(gettext("%(count)s approved by you. One more person has to.") % {"count": len(done.waiting)})
    return " ".join(told)


def _to_list(seat: Seat) -> HttpResponseRedirect:
    return HttpResponseRedirect(seat.url("dashboard_payouts"))
