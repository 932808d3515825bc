"""The settings pages of branding, with a preview, and the public style sheet and logo of a merchant's pages."""

from dataclasses import replace
from typing import Any, Final

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from accounts.audit.actors import actor_of
from accounts.brand.colours import DARK, LIGHT, Scheme, is_colour, palette
from accounts.brand.domains import PATH, set_domain
from accounts.brand.facts import Brand, brand_of, properties, stylesheet, stylesheet_version
from accounts.brand.service import MAX_UPLOAD_BYTES, BrandingChanges, change_branding
from accounts.merchants.service import BUYERS_MAY_RETRY, IS_GAS_FREE, MAILS_RECEIPTS, ROUND_PRICE_RIVALS, turn
from accounts.models import Branding
from accounts.team.access import SeatedRequest, seated
from accounts.team.permissions import Act
from gateway.core.api import errors
from gateway.core.api.errors import InvalidRequestError
from gateway.core.api.rate_limits import Limit
from gateway.core.web.compact import compact_page
from gateway.core.web.form_errors import add_refusal
from gateway.core.web.pages import count_visit, uncached

_LINK = {"inputmode": "url", "autocomplete": "off", "placeholder": "https://"}

_THEMES: Final = (("light", LIGHT), ("dark", DARK))
_DARK_LETTERS: Final = "#000000"

# Per client and merchant: each buyer's browser asks once, and many may share an address.
BRAND = Limit("brand", 600)
# Each asks a server that a member names.
PROOF = Limit("brand.domain", 5)
# Opened directly, neither may load anything.
_HEADERS = {"Cache-Control": "public, max-age=31536000, immutable", "Content-Security-Policy": "default-src 'none'"}

_TEXTS: Final = ("display_name", "accent", "support_url", "terms_url", "return_label", "legal_lines")
# The lengths of the columns; saving would refuse anything longer.
_PREVIEWED: Final = {"display_name": 80, "return_label": 40}


class BrandingForm(forms.Form):
    """Name, logo, colour, links and the return button's text. An empty field resets to the default."""

    display_name = forms.CharField(
        label=_("Name shown to buyers"), required=False, help_text=_("Replaces the merchant's name.")
    )
    logo = forms.FileField(
        label=_("Logo"),
        required=False,
        help_text=_("PNG, JPEG, WebP or GIF, up to 2 MB. We resize it. Your pages show it 40 pixels high."),
        widget=forms.FileInput(attrs={"accept": "image/png,image/jpeg,image/webp,image/gif"}),
    )
    remove_logo = forms.BooleanField(label=_("Remove the logo"), required=False)
    accent = forms.CharField(
        label=_("Accent colour"),
        required=False,
        help_text=_("Six hex digits, such as #2440d8. Leave it empty for our colour."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "maxlength": 7}),
    )
    support_url = forms.CharField(label=_("Where buyers get help"), required=False, widget=forms.TextInput(attrs=_LINK))
    terms_url = forms.CharField(label=_("Your terms of sale"), required=False, widget=forms.TextInput(attrs=_LINK))
    return_label = forms.CharField(
        label=_("Return button"),
        required=False,
        help_text=_("Replaces “Return to” and your name. Up to 40 characters."),
    )
    legal_lines = forms.CharField(
        label=_("Legal lines on receipts"),
        required=False,
        help_text=_("Your legal name, address and tax number, as your country asks for. Up to six lines."),
        widget=forms.Textarea(attrs={"rows": 4}),
    )

    def clean_logo(self) -> Any:
        """Refuse a file that is too large before any of it is read."""
        logo = self.cleaned_data["logo"]
        if logo and logo.size > MAX_UPLOAD_BYTES:
            raise ValidationError(gettext("The logo must not be larger than 2 MB."))
        return logo

    def changes(self) -> BrandingChanges:
        """Return the changes of a valid form; without a new file the logo stays."""
        typed = self.cleaned_data
        changes = BrandingChanges(
            display_name=typed["display_name"],
            accent=typed["accent"],
            support_url=typed["support_url"],
            terms_url=typed["terms_url"],
            return_label=typed["return_label"],
            legal_lines=typed["legal_lines"].replace("\r\n", "\n"),
        )
        if typed["logo"]:
            changes["logo"] = typed["logo"].read()
        elif typed["remove_logo"]:
            changes["logo"] = b""
        return changes


class DomainForm(forms.Form):
    """The shop's domain, which a file there proves."""

    domain = forms.CharField(
        label=_("Your shop's domain"),
        required=False,
        max_length=300,
        help_text=_(
            "Such as shop.example.com. Buyers see it beside your name, once it is proven. Leave it empty to remove it."
        ),
        widget=forms.TextInput(attrs={"inputmode": "url", "autocomplete": "off", "spellcheck": "false"}),
    )


class CheckoutPageForm(forms.Form):
    """Settings of the checkout page: what it offers to buyers, and which mails they get."""

    buyers_may_retry = forms.BooleanField(
        label=_("Buyers can restart an expired checkout at the same price"),
        help_text=_("Not those of payment links, terminals and shop plugins, which begin anew where they were made."),
        required=False,
    )
    mails_receipts = forms.BooleanField(label=_("Mail a receipt to the checkout's e-mail address"), required=False)
    round_price_rivals = forms.BooleanField(
        label=_("Review round payments when another checkout of the same price has just expired"),
        help_text=_(
            "On exact-amount networks, such a payment may come from the buyer who was late. It waits in your "
            "inbox and does not complete the open checkout."
        ),
        required=False,
    )
    is_gas_free = forms.BooleanField(
        label=_("Buyers with a browser wallet pay no network fee where we can pay it"),
        help_text=_("Their wallet signs, and we send the payment to the same address. Elsewhere they pay as always."),
        required=False,
    )


def preview_stylesheet(accent: str) -> str:
    """Return the preview's style sheet for an accent; empty without a valid colour.

    The preview is part of a dashboard page, so its colours apply only inside it, in either theme of the reader.
    """
    if not is_colour(accent):
        return ""
    rules = "".join(f".preview--{name}{{{properties(palette(accent, scheme))}}}" for name, scheme in _THEMES)
    return f"@layer states{{{rules}}}"


def preview_notes(accent: str) -> list[str]:
    """Return the notes on how an accent was changed to stay readable."""
    if not accent:
        return [gettext("Without your own colour, your pages use ours.")]
    if not is_colour(accent):
        return [gettext("Enter a colour, such as #2440d8. Until then the preview shows ours.")]
    is_bright = palette(accent, LIGHT).ink == _DARK_LETTERS
    letters = (
        gettext("Your buttons use dark text, because white is hard to read on this colour.")
        if is_bright
        else gettext("Your buttons use white text, which is easy to read on this colour.")
    )
    return [letters, *(note for _, scheme in _THEMES for note in _moved(accent, scheme))]


def _moved(accent: str, scheme: Scheme) -> list[str]:
    drawn = palette(accent, scheme)
    notes = []
    if drawn.text != accent and scheme.is_dark:
        notes.append(gettext("On dark screens, links are drawn lighter: %(colour)s.") % {"colour": drawn.text})
    elif drawn.text != accent:
        notes.append(gettext("On light screens, links are drawn darker: %(colour)s.") % {"colour": drawn.text})
    if drawn.edge != drawn.fill and scheme.is_dark:
        notes.append(gettext("On dark screens, buttons get a border, so that they stand out."))
    elif drawn.edge != drawn.fill:
        notes.append(gettext("On light screens, buttons get a border, so that they stand out."))
    return notes


@compact_page
@require_safe
def brand_stylesheet(request: HttpRequest, merchant_id: str, version: str) -> HttpResponse:
    """Answer the style sheet of the merchant's pages. Raises Http404 for any version but the current one."""
    if refusal := _refusal(request, merchant_id):
        return refusal
    of_merchant = Branding.objects.filter(merchant__public_id=merchant_id)
    accent = of_merchant.values_list("accent", flat=True).first()
    if accent is None or stylesheet_version(accent) != version:
        raise Http404
    return HttpResponse(stylesheet(accent), content_type="text/css", headers=_HEADERS)


@require_safe
def brand_logo(request: HttpRequest, merchant_id: str, digest: str) -> HttpResponse:
    """Answer the merchant's logo. Raises Http404 for any digest but the current one."""
    if refusal := _refusal(request, merchant_id):
        return refusal
    of_merchant = Branding.objects.filter(merchant__public_id=merchant_id)
    present = of_merchant.filter(logo_digest=digest)
    logo = present.values_list("logo", flat=True).first()
    if not logo:
        raise Http404
    return HttpResponse(bytes(logo), content_type="image/png", headers=_HEADERS)


def _refusal(request: HttpRequest, merchant_id: str) -> HttpResponse | None:
    try:
        count_visit(request, BRAND, merchant_id)
    except errors.RateLimitError as error:
        return uncached(HttpResponse(status=429), error.headers())
    return None


@seated(get=Act.SEE, post=Act.MANAGE_BRANDING)
def branding(request: SeatedRequest) -> HttpResponse:
    """Show the branding; save changes."""
    present = _present(request)
    if request.method != "POST":
        initial = {name: getattr(present, name) for name in _TEXTS} if present else {}
        return _page(request, BrandingForm(initial=initial))
    form = BrandingForm(request.POST, request.FILES)
    if form.is_valid() and _save(request, form):
        messages.success(request, gettext("Branding saved."))
        return _back(request)
    return _page(request, form, status=422)


@seated(post=Act.MANAGE_BRANDING)
def domain(request: SeatedRequest) -> HttpResponse:
    """Prove and save the shop's domain, or remove it."""
    form = DomainForm(request.POST)
    if form.is_valid():
        try:
            count_visit(request, PROOF, request.seat.merchant.public_id)
            typed, now = form.cleaned_data["domain"], timezone.now()
            proven = set_domain(request.seat.merchant, typed, now=now, actor=actor_of(request))
        except errors.GatewayError as error:
            add_refusal(form, error)
        else:
            words = (
                gettext("%(proven)s is proven. Buyers see it beside your name.") % {"proven": proven}
                if proven
                else gettext("The domain is removed.")
            )
            messages.success(request, words)
            return _back(request)
    present = _present(request)
    initial = {name: getattr(present, name) for name in _TEXTS} if present else {}
    return _page(request, BrandingForm(initial=initial), status=422, domain_form=form)


@seated(post=Act.MANAGE_BRANDING)
def checkout_page(request: SeatedRequest) -> HttpResponse:
    """Save the checkout page's switches."""
    form = CheckoutPageForm(request.POST)
    form.is_valid()
    now, actor = timezone.now(), actor_of(request)
    # Shown only where the operator pays such fees.
    free = (IS_GAS_FREE,) if settings.GAS_FREE else ()
    for switch in (BUYERS_MAY_RETRY, MAILS_RECEIPTS, ROUND_PRICE_RIVALS, *free):
        turn(request.seat.merchant, switch, to=form.cleaned_data[switch.field], now=now, actor=actor)
    messages.success(request, gettext("Saved."))
    return _back(request)


@seated(get=Act.SEE)
def preview(request: SeatedRequest) -> HttpResponse:
    """Render a part of the checkout page in both themes from an unsaved form."""
    texts = {name: request.GET.get(name, "")[:most] for name, most in _PREVIEWED.items()}
    accent = request.GET.get("accent", "").strip().lower()
    brand = _brand(request)
    shown = replace(
        brand,
        name=texts["display_name"].strip() or request.seat.merchant.name,
        return_label=texts["return_label"].strip(),
    )
    context = {"brand": shown, "notes": preview_notes(accent)}
    return render(request, "dashboard/accounts/_branding_preview.html", context)


@seated(get=Act.SEE)
def preview_style(request: SeatedRequest) -> HttpResponse:
    """Return the colours of a preview."""
    accent = request.GET.get("accent", "").strip().lower()
    return HttpResponse(preview_stylesheet(accent), content_type="text/css")


def _save(request: SeatedRequest, form: BrandingForm) -> bool:
    try:
        change_branding(request.seat.merchant, changes=form.changes(), now=timezone.now(), actor=actor_of(request))
    except InvalidRequestError as error:
        add_refusal(form, error)
        return False
    return True


def _present(request: SeatedRequest) -> Branding | None:
    mine = Branding.objects.defer("logo").filter(merchant=request.seat.merchant)
    return mine.first()


def _brand(request: SeatedRequest) -> Brand:
    if present := _present(request):
        request.seat.merchant.branding = present
    return brand_of(request.seat.merchant)


def _back(request: SeatedRequest) -> HttpResponse:
    return HttpResponseRedirect(request.seat.url("dashboard_branding"))


def _page(
    request: SeatedRequest, form: BrandingForm, status: int = 200, *, domain_form: DomainForm | None = None
) -> HttpResponse:
    merchant, brand = request.seat.merchant, _brand(request)
    accent = str(form["accent"].value() or "").strip().lower()
    switches: dict[str, Any] = {
        "buyers_may_retry": merchant.buyers_may_retry,
        "mails_receipts": merchant.mails_receipts,
        "round_price_rivals": merchant.round_price_rivals,
        "is_gas_free": merchant.is_gas_free,
    }
    context = {
        "form": form,
        "brand": brand,
        "domain_form": domain_form or DomainForm(initial={"domain": brand.domain}),
        "proof": {"path": PATH, "line": merchant.public_id},
        "accent": accent,
        "notes": preview_notes(accent),
        "switches": CheckoutPageForm(initial=switches),
        "has_gas_free": bool(settings.GAS_FREE),
    }
    return render(request, "dashboard/accounts/branding.html", context, status=status)
