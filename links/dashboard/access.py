"""Helpers of the links' pages: find a link or template, and name the actor."""

from django.http import Http404

from accounts.team.seats import Seat, SeatedRequest
from gateway.core.api.errors import NotFoundError
from gateway.core.web.client_address import address_or_none
from links.editing.inputs import Person
from links.models import LinkTemplate, PaymentLink
from links.selectors import link_template, payment_link


def found_link(seat: Seat, link_id: str) -> PaymentLink:
    """Return a link of the merchant and mode. Raises Http404."""
    try:
        return payment_link(seat.merchant.pk, seat.mode, link_id)
    except NotFoundError as error:
        raise Http404 from error


def found_template(seat: Seat, template_id: str) -> LinkTemplate:
    """Return a template of the merchant and mode. Raises Http404."""
    try:
        return link_template(seat.merchant.pk, seat.mode, template_id)
    except NotFoundError as error:
        raise Http404 from error


def person_of(request: SeatedRequest) -> Person:
    """Return the actor for the audit log."""
    return Person(request.user, address_or_none(request))
