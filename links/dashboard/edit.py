"""Creates links by hand, from scratch or from a template, and changes them."""

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone

from accounts.team.permissions import Act
from accounts.team.seats import Seat, SeatedRequest, seated
from checkouts.dashboard.new_checkout import lacks_wallet
from gateway.core.api.errors import ConflictError
from gateway.core.web.form_errors import add_refusal
from links.dashboard.access import found_link, found_template, person_of
from links.dashboard.link_form import EditLinkForm, NewLinkForm, initial_of_template
from links.dashboard.words import KINDS, Kind, price_of
from links.editing.inputs import LinkFields
from links.editing.service import change_link, create_link, create_template, delete_template
from links.models import LinkTemplate, PaymentLink
from links.selectors import templates_of
from links.states import LinkType

_MOST_TEMPLATES = 50


@seated(get=Act.RUN_PAYMENTS)
def choose(request: SeatedRequest) -> HttpResponse:
    """Ask for the type of the link, or the template to begin with."""
    seat = request.seat
    rows = templates_of(seat.merchant.pk, seat.mode).order_by("-pk")[:_MOST_TEMPLATES]
    templates = [(row, KINDS[LinkType(row.type)], price_of(row)) for row in rows]
    context = {"kinds": KINDS.values(), "templates": templates}
    return render(request, "dashboard/links/choose.html", context)


@seated(get=Act.RUN_PAYMENTS, post=Act.RUN_PAYMENTS)
def new_link(request: SeatedRequest, *, kind: str) -> HttpResponse:
    """Show a new link's form, and create the link by the API's rules."""
    if kind not in LinkType.values:
        raise Http404
    chosen = KINDS[LinkType(kind)]
    if request.method != "POST":
        template_id = request.GET.get("template", "")
        template = found_template(request.seat, template_id) if template_id else None
        initial = initial_of_template(template) if template else None
        return _new(request, NewLinkForm(kind=chosen.type, initial=initial), chosen)
    form = NewLinkForm(request.POST, kind=chosen.type)
    if not form.is_valid() or form.wanted is None:
        return _new(request, form, chosen, status=422)
    try:
        link = _make(request, form, form.wanted)
    except ConflictError as error:
        form.add_error(None, error.message)
        return _new(request, form, chosen, status=409)
    messages.success(request, "Payment link created. Share it.")
    return _to_link(request.seat, link)


@transaction.atomic
def _make(request: SeatedRequest, form: NewLinkForm, wanted: LinkFields) -> PaymentLink:
    seat, now, by = request.seat, timezone.now(), person_of(request)
    template = _template(seat, form.cleaned_data["template"])
    if (saved := form.template_fields()) is not None:
        template = create_template(seat.merchant.pk, seat.mode, saved, now=now, by=by)
    return create_link(seat.merchant.pk, seat.mode, wanted, template=template, now=now, by=by)


def _template(seat: Seat, template_id: str) -> LinkTemplate | None:
    """Return the form's template, unless it was deleted since: the form has all its values."""
    if not template_id:
        return None
    try:
        return found_template(seat, template_id)
    except Http404:
        return None


def _new(request: SeatedRequest, form: NewLinkForm, kind: Kind, status: int = 200) -> HttpResponse:
    context = {"form": form, "kind": kind, "lacks_wallet": lacks_wallet(request.seat)}
    return render(request, "dashboard/links/new.html", context, status=status)


@seated(get=Act.RUN_PAYMENTS, post=Act.RUN_PAYMENTS)
def edit(request: SeatedRequest, *, link_id: str) -> HttpResponse:
    """Show a link's form, and change the link by the API's rules."""
    link = found_link(request.seat, link_id)
    if request.method != "POST":
        return _edit(request, EditLinkForm(link=link))
    form = EditLinkForm(request.POST, link=link)
    if not form.is_valid() or form.wanted is None:
        return _edit(request, form, status=422)
    try:
        change_link(link, form.wanted, now=timezone.now(), by=person_of(request), seen=form.cleaned_data["seen"])
    except ConflictError as error:
        add_refusal(form, error)
        return _edit(request, form, status=409)
    messages.success(request, "Link saved. Changes apply from the next payment.")
    return _to_link(request.seat, link)


def _edit(request: SeatedRequest, form: EditLinkForm, status: int = 200) -> HttpResponse:
    context = {"form": form, "link": form.link, "kind": KINDS[form.kind]}
    return render(request, "dashboard/links/edit.html", context, status=status)


@seated(post=Act.RUN_PAYMENTS)
def delete(request: SeatedRequest, *, template_id: str) -> HttpResponse:
    """Delete a template."""
    template = found_template(request.seat, template_id)
    delete_template(template, now=timezone.now(), by=person_of(request))
    messages.success(request, f"The template “{template.title}” is deleted.")
    return HttpResponseRedirect(request.seat.url("dashboard_new_link"))


def _to_link(seat: Seat, link: PaymentLink) -> HttpResponse:
    return HttpResponseRedirect(seat.url("dashboard_link", link_id=link.public_id))
