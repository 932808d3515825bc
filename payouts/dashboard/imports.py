"""Importing payouts from a CSV file: every row is checked before any is written."""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.audit.actors import Actor, actor_of
from accounts.models import Merchant
from accounts.states import Mode
from accounts.team.access import SeatedRequest, seated
from accounts.team.permissions import Act
from gateway.core.api.errors import GatewayError
from gateway.core.web.form_errors import words_of
from payouts.lifecycle.recipients import Recipient, ask_recipients
from payouts.lifecycle.service import Terms, request_payout
from payouts.models import REFERENCE_LENGTH
from payouts.states import AddressBy
from wallets.networks import chains, is_accepted

HEADER: Final = ("address", "amount", "token", "chain", "reference")
MOST_ROWS: Final = 500
_MOST_BYTES: Final = 200_000
_MOST_PROBLEMS: Final = 50
_WRITTEN: Final = re.compile(r"[0-9]{1,30}(?:\.[0-9]{1,18})?", re.ASCII)


class UnreadableFileError(Exception):
    """The file is no list of payouts. Its text says why, to people."""


class ImportForm(forms.Form):
    """The file."""

    file = forms.FileField(label=_("CSV file"), widget=forms.FileInput(attrs={"accept": ".csv,text/csv"}))


@dataclass(frozen=True, slots=True)
class ImportRow:
    """A row of the file as it was written; `line` counts from the file's first line."""

    line: int
    address: str
    amount: str
    token: str
    chain: str
    reference: str


@dataclass(frozen=True, slots=True)
class RowProblem:
    """Why a row is refused."""

    line: int
    words: str


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import wrote: new payouts, and those that their references named already. With `problems`, nothing.

    Of the new ones, so many are `unchecked`: their chain has not said yet what the address is.
    """

    new: int
    known: int
    problems: list[RowProblem]
    unchecked: int = 0


@seated(get=Act.REQUEST_PAYOUTS, post=Act.REQUEST_PAYOUTS)
def import_payouts(request: SeatedRequest) -> HttpResponse:
    """Ask for a file, and write its payouts, all or none."""
    if request.method != "POST":
        return _page(request, ImportForm())
    form = ImportForm(request.POST, request.FILES)
    if not form.is_valid():
        return _page(request, form, status=422)
    seat = request.seat
    try:
        rows = read_rows(form.cleaned_data["file"])
    except UnreadableFileError as error:
        form.add_error("file", str(error))
        return _page(request, form, status=422)
    told = write_rows(seat.merchant, Mode(seat.mode), rows, actor=actor_of(request), now=timezone.now())
    if told.problems:
        return _page(request, form, told.problems, status=422)
    said = [gettext("%(count)s payouts wait for approval.") % {"count": told.new}]
    if told.known:
        said.append(gettext("%(count)s were there already.") % {"count": told.known})
    if told.unchecked:
        said.append(
            gettext("%(count)s of their addresses are checked in the next minutes.") % {"count": told.unchecked}
        )
    messages.success(request, " ".join(said))
    return HttpResponseRedirect(seat.url("dashboard_payouts"))


def read_rows(file: "UploadedFile[bytes]") -> list[ImportRow]:
    """Return the rows of a file. Raises UnreadableFileError."""
    if (file.size or 0) > _MOST_BYTES:
        raise UnreadableFileError(gettext("The file is too large. Import at most 500 payouts at once."))
    try:
        text = file.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableFileError(gettext("The file is not UTF-8. Save it as “CSV UTF-8”.")) from None
    if "\0" in text:
        raise UnreadableFileError(gettext("The file is no CSV file."))
    try:
        rows = list(_rows(text))
    except csv.Error:
        raise UnreadableFileError(gettext("The file is no CSV file.")) from None
    if not rows:
        raise UnreadableFileError(gettext("The file has no payouts under its header."))
    if len(rows) > MOST_ROWS:
        raise UnreadableFileError(
            gettext("The file has %(count)s payouts. Import at most %(most)s at once.")
            % {"count": len(rows), "most": MOST_ROWS}
        )
    return rows


def _rows(text: str) -> Iterator[ImportRow]:
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    header = [cell.strip().lower() for cell in next(lines, [])]
    if tuple(header) != HEADER:
        raise UnreadableFileError(gettext("The first line must be: %(header)s") % {"header": ",".join(HEADER)})
    for cells in lines:
        if any(cell.strip() for cell in cells):
            filled = [*(cell.strip() for cell in cells), *[""] * len(HEADER)][: len(HEADER)]
            yield ImportRow(lines.line_num, *filled)


def write_rows(merchant: Merchant, mode: Mode, rows: list[ImportRow], *, actor: Actor, now: datetime) -> Imported:
    """Ask for the payouts of all rows, or of none if any is refused.

    Their chains are asked first what the addresses are, as far as they answer in some seconds: hold no transaction.
    """
    said = ask_recipients([(row.chain, row.address) for row in rows], mode=mode)
    problems, new, unchecked, seen = [], 0, 0, set[str]()
    with transaction.atomic():
        for row in rows:
            try:
                _refuse(row, seen)
                with transaction.atomic():
                    terms, amount = _terms(row, said.get((row.chain, row.address))), _amount(row)
                    asked = request_payout(merchant, mode=mode, amount=amount, terms=terms, now=now, actor=actor)
            except _RowError as error:
                problems.append(RowProblem(row.line, str(error)))
            except GatewayError as error:
                problems.append(RowProblem(row.line, words_of(error)))
            else:
                new += asked.is_new
                unchecked += asked.is_new and mode == Mode.LIVE and asked.payout.inspected_at is None
        if problems:
            transaction.set_rollback(True)
    return Imported(0, 0, problems) if problems else Imported(new, len(rows) - new, [], unchecked)


def _terms(row: ImportRow, recipient: Recipient | None) -> Terms:
    return Terms(
        chain=row.chain,
        token=row.token,
        address=row.address,
        recipient=recipient,
        address_by=AddressBy.PERSON,
        reference=row.reference,
    )


class _RowError(Exception):
    """A row that no payout can be made of."""


def _refuse(row: ImportRow, seen: set[str]) -> None:
    if not row.address:
        raise _RowError(gettext("The address is missing."))
    if row.chain not in chains():
        raise _RowError(
            gettext("There is no network %(network)s. Known are %(known)s.")
            % {"network": repr(row.chain[:16]), "known": ", ".join(chains())}
        )
    if not is_accepted(row.chain, row.token):
        known = ", ".join(token.symbol for token in chains()[row.chain].accepted_tokens)
        raise _RowError(
            gettext("%(token)s is not paid on %(network)s. Known are %(known)s.")
            % {"token": repr(row.token[:12]), "network": row.chain, "known": known}
        )
    if len(row.reference) > REFERENCE_LENGTH:
        raise _RowError(gettext("The reference is longer than %(count)s characters.") % {"count": REFERENCE_LENGTH})
    if row.reference and row.reference in seen:
        raise _RowError(gettext("The reference is in the file twice."))
    seen.add(row.reference)


def _amount(row: ImportRow) -> Decimal:
    if not _WRITTEN.fullmatch(row.amount):
        raise _RowError(gettext("The amount must be written like 25 or 25.50."))
    return Decimal(row.amount)


def _page(
    request: SeatedRequest, form: ImportForm, problems: list[RowProblem] | None = None, status: int = 200
) -> HttpResponse:
    found = problems or []
    context: dict[str, Any] = {
        "form": form,
        "problems": found[:_MOST_PROBLEMS],
        "more": max(0, len(found) - _MOST_PROBLEMS),
        "header": ",".join(HEADER),
        "most": MOST_ROWS,
    }
    return render(request, "dashboard/payouts/import.html", context, status=status)
