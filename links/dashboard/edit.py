"""Creates links by hand, from scratch or from a template, and changes them. The API's serializer makes and validates the forms."""

import re
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from accounts.audit.actors import actor_of
from accounts.team.access import Seat, SeatedRequest, seated
from accounts.team.permissions import Act
from checkouts.dashboard.new_checkout import lacks_wallet
from checkouts.line_items import LONGEST_FACT, Invoice, invoice_of
from gateway.core import json
from gateway.core.api.errors import ConflictError, InvalidRequestError
from gateway.core.currencies import USD, format_price
from gateway.core.json import indented
from gateway.core.web.form_errors import add_refusal, words_of
from links.dashboard.link_page import found_link, found_template
from links.dashboard.words import KINDS, ShownLinkType, price_of
from links.editing.service import change_link, create_link, create_template, delete_template
from links.models import LinkTemplate, PaymentLink
from links.selectors import templates_of
from links.serializers import FIELDS_OF, NewLink, NewLinkTemplate, read_changes
from links.states import LinkType
from rates.selectors import form_currency, has_prices, price_currencies

# The invoice's single buyer has a reference; on other links strangers would share it.
_OWN: Final = {**FIELDS_OF, LinkType.INVOICE: ("customer_ref",)}
# Advanced fields.
_MORE: Final = ("redirect_url", "webhook_url", "product_ref", "customer_ref", "escrow", "metadata")
_DONATION_ORDER: Final = ("title", "description", "min_amount", "max_amount", "suggested_amounts", "amount")
_PRICED_ORDER: Final = ("title", "description", "amount", "currency")
# Of an invoice. They are kept in its metadata, which each checkout has.
_INVOICE: Final = ("invoice_buyer", "invoice_number", "invoice_due")
_BETWEEN_AMOUNTS: Final = re.compile(r"[,;\s]+")
# It may be a decimal comma, stand between thousands, or between two amounts.
_UNCLEAR_COMMA: Final = re.compile(r"\d,\d")
_UNCLEAR: Final = gettext_noop(
    "Leave a blank after each comma between amounts, and write cents with a point, such as 10.50, 25."
)

_MOST_TEMPLATES = 50


class LinkForm(forms.Form):
    """The fields of `POST /links` for a type; that request's serializer makes and checks them."""

    def __init__(self, *args: Any, kind: LinkType, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kind = kind
        self.wanted: dict[str, Any] | None = None
        self.fields = NewLink.form_fields() | self.fields
        for owner, names in _OWN.items():
            for name in names if owner != kind else ():
                del self.fields[name]
        self.fields["title"].required = True
        if kind == LinkType.INVOICE:
            self.fields |= _invoice_fields()
        amount = self.fields["amount"]
        if kind == LinkType.DONATION:
            amount.label = gettext("Default amount")
            amount.help_text = gettext("In USD. The payer may change it.")
            self.order_fields(_DONATION_ORDER)
        else:
            amount.required = True

    def main_fields(self) -> list[forms.BoundField]:
        """Return the main fields."""
        return [self[name] for name in self.fields if not self._is_apart(name)]

    def more_fields(self) -> list[forms.BoundField]:
        """Return the advanced fields."""
        return [self[name] for name in _MORE if name in self.fields]

    def _is_apart(self, name: str) -> bool:
        return name in _MORE or self[name].is_hidden or name == "save_as_template"

    @property
    def more_is_open(self) -> bool:
        """Whether an advanced field is filled in, or has an error."""
        return any(field.value() or field.errors for field in self.more_fields())

    def clean_suggested_amounts(self) -> str:
        """Return the amounts as typed, where it is clear which they are."""
        text: str = self.cleaned_data["suggested_amounts"]
        if _UNCLEAR_COMMA.search(text):
            raise forms.ValidationError(gettext(_UNCLEAR))
        return text

    def clean_metadata(self) -> Any:
        """Return the parsed JSON, with numbers as spelled; None for nothing."""
        text = self.cleaned_data["metadata"]
        try:
            return json.loads(text.encode()) if text else None
        except (json.NotJsonError, UnicodeEncodeError) as error:
            raise forms.ValidationError(gettext("This is not JSON.")) from error

    def clean(self) -> dict[str, Any]:
        """Validate with the API's serializer, and put its error at the field it names."""
        if self.errors:
            return self.cleaned_data
        try:
            self.wanted = self._parsed(self._body())
        except InvalidRequestError as error:
            add_refusal(self, error)
        return self.cleaned_data

    def _parsed(self, body: dict[str, Any]) -> dict[str, Any]:
        return NewLink.read(body | {"type": self.kind.value})

    def _body(self) -> dict[str, Any]:
        """Return the form as a request body; empty fields are left out."""
        filled = self.cleaned_data
        body: dict[str, Any] = {name: filled[name] for name in NewLink.columns() if name in self.fields}
        for name, value in body.items():
            if name != "metadata" and isinstance(value, str):
                # Browsers send two characters for the end of a line.
                body[name] = value.replace("\r\n", "\n") or None
        if self.kind == LinkType.INVOICE:
            body["metadata"] = self._with_invoice(body.get("metadata"))
        if listed := body.get("suggested_amounts"):
            amounts = _BETWEEN_AMOUNTS.split(listed)
            body["suggested_amounts"] = [amount for amount in amounts if amount]
        return body

    def _with_invoice(self, metadata: Any) -> Any:
        """Return the metadata with what the invoice's own fields say, which take the place of what was typed as JSON."""
        buyer, number, due = (self.cleaned_data[name] for name in _INVOICE)
        facts = Invoice(number=" ".join(number.split()), buyer=" ".join(buyer.split()), due=due).as_metadata()
        # The serializer refuses what is no object.
        if not facts or not isinstance(metadata, dict | None):
            return metadata
        return (metadata or {}) | {"invoice": facts}


def _invoice_fields() -> dict[str, forms.Field]:
    return {
        "invoice_buyer": forms.CharField(
            label=gettext("Billed to"),
            required=False,
            max_length=LONGEST_FACT,
            help_text=gettext("The buyer's name. Everyone with the link can read it."),
        ),
        "invoice_number": forms.CharField(label=gettext("Invoice number"), required=False, max_length=LONGEST_FACT),
        "invoice_due": forms.DateField(
            label=gettext("Due date"),
            required=False,
            help_text=gettext("It is shown. The invoice can be paid later, too."),
            widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        ),
    }


class NewLinkForm(LinkForm):
    """The form of a new link, optionally from a template, or saved as one."""

    currency = forms.ChoiceField(
        label=_("Currency"),
        help_text=_("Each payment converts a price in another currency to US dollars at the rate of then."),
    )
    template = forms.CharField(required=False, widget=forms.HiddenInput)
    save_as_template = forms.BooleanField(label=_("Save as a template for other links"), required=False)

    def __init__(self, *args: Any, kind: LinkType, **kwargs: Any) -> None:
        super().__init__(*args, kind=kind, **kwargs)
        if has_prices() and kind != LinkType.DONATION:
            self.fields["currency"].choices = [(one, one) for one in (USD, *price_currencies())]  # type: ignore[attr-defined]
            self.fields["amount"].label, self.fields["amount"].help_text = (
                gettext("Amount"),
                gettext("Worth 0.10 to 1,000,000.00 USD"),
            )
            self.order_fields(_PRICED_ORDER)
        else:
            del self.fields["currency"]

    def clean(self) -> dict[str, Any]:
        """Validate as every link's form; a template is in US dollars."""
        fields = super().clean()
        if fields.get("save_as_template") and fields.get("currency", USD) != USD:
            self.add_error("save_as_template", gettext("A template is in US dollars."))
        return fields

    def template_fields(self) -> dict[str, Any] | None:
        """Return the fields of the template to save, if requested; the form is valid."""
        if self.wanted is None or not self.cleaned_data["save_as_template"]:
            return None
        return {name: self.wanted[name] for name in NewLinkTemplate.columns()}


class EditLinkForm(LinkForm):
    """The form of an existing link, without its type and number of payments."""

    seen = forms.DateTimeField(widget=forms.HiddenInput)

    def __init__(self, *args: Any, link: PaymentLink, **kwargs: Any) -> None:
        kwargs["initial"] = _initial_of(link)
        super().__init__(*args, kind=LinkType(link.type), **kwargs)
        self.link = link
        self.fields.pop("interval", None)
        if link.currency != USD:
            self.fields["amount"].label, self.fields["amount"].help_text = (
                gettext("Amount in %(currency)s") % {"currency": link.currency},
                "",
            )

    def _parsed(self, body: dict[str, Any]) -> dict[str, Any]:
        return read_changes(self.link, body)


def initial_of_template(template: LinkTemplate) -> dict[str, Any]:
    """Return a new link's initial values from a template."""
    said = {name: getattr(template, name) for name in NewLinkTemplate.columns()}
    return said | _metadata_of(template) | {"template": template.public_id}


def _initial_of(link: PaymentLink) -> dict[str, Any]:
    said = {name: getattr(link, name) for name in NewLink.columns()}
    if link.currency != USD and link.amount is not None:
        said["amount"] = format_price(link.amount, link.currency)
    return said | {
        "suggested_amounts": ", ".join(link.suggested_amounts),
        **_metadata_of(link),
        "seen": link.updated_at.isoformat(),
    }


def _metadata_of(row: PaymentLink | LinkTemplate) -> dict[str, Any]:
    """Return the initial values of the metadata's field, and of an invoice's own fields, which it then leaves out."""
    invoice = invoice_of(row.metadata) if row.type == LinkType.INVOICE else None
    found = json.loads(row.metadata.encode())
    if invoice is None or found["invoice"] != invoice.as_metadata():
        # It says more, or says it in another form: nothing of it is lost.
        return {"metadata": _written(row.metadata)}
    rest = json.dumps({name: value for name, value in found.items() if name != "invoice"}).decode()
    facts = {"invoice_buyer": invoice.buyer, "invoice_number": invoice.number, "invoice_due": invoice.due}
    return {"metadata": _written(rest), **facts}


def _written(metadata: str) -> str:
    return "" if metadata == "{}" else indented(metadata)


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
        # A template's amounts are in US dollars.
        initial = initial_of_template(template) if template else {"currency": form_currency(request.seat.merchant)}
        return _new(request, NewLinkForm(kind=chosen.type, initial=initial), chosen)
    form = NewLinkForm(request.POST, kind=chosen.type)
    if not form.is_valid() or form.wanted is None:
        return _new(request, form, chosen, status=422)
    try:
        link = _make(request, form, form.wanted)
    except ConflictError as error:
        form.add_error(None, words_of(error))
        return _new(request, form, chosen, status=409)
    messages.success(request, gettext("Payment link created. Share it."))
    return _to_link(request.seat, link)


@transaction.atomic
def _make(request: SeatedRequest, form: NewLinkForm, wanted: dict[str, Any]) -> PaymentLink:
    seat, now, by = request.seat, timezone.now(), actor_of(request)
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


def _new(request: SeatedRequest, form: NewLinkForm, kind: ShownLinkType, status: int = 200) -> HttpResponse:
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
        change_link(link, form.wanted, now=timezone.now(), by=actor_of(request), seen=form.cleaned_data["seen"])
    except ConflictError as error:
        add_refusal(form, error)
        return _edit(request, form, status=409)
    messages.success(request, gettext("Link saved. Changes apply from the next payment."))
    return _to_link(request.seat, link)


def _edit(request: SeatedRequest, form: EditLinkForm, status: int = 200) -> HttpResponse:
    context = {"form": form, "link": form.link, "kind": KINDS[form.kind]}
    return render(request, "dashboard/links/edit.html", context, status=status)


@seated(post=Act.RUN_PAYMENTS)
def delete(request: SeatedRequest, *, template_id: str) -> HttpResponse:
    """Delete a template."""
    template = found_template(request.seat, template_id)
    delete_template(template, now=timezone.now(), by=actor_of(request))
    messages.success(request, gettext("The template “%(title)s” is deleted.") % {"title": template.title})
    return HttpResponseRedirect(request.seat.url("dashboard_new_link"))


def _to_link(seat: Seat, link: PaymentLink) -> HttpResponse:
    return HttpResponseRedirect(seat.url("dashboard_link", link_id=link.public_id))
