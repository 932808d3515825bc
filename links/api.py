"""Views of the link API. The rules are in `links.editing` and `links.serializers`."""

from typing import ClassVar

from django.db import transaction
from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.audit.actors import actor_of
from accounts.keys.authentication import Principal, principal_of_request
from checkouts.page.qr import qr_svg
from gateway.core.api.fields import text_in
from gateway.core.api.openapi import PAGE_PARAMETERS, errors
from gateway.core.api.pagination import list_body, parse_page
from gateway.core.api.rate_limits import Limit
from gateway.core.api.scopes import Scope
from gateway.core.api.views import ApiViewSet
from gateway.core.api.wire import json_body
from links import serializers
from links.editing.service import change_link, create_link, create_template, delete_template, locked_link, set_status
from links.models import LinkTemplate, PaymentLink
from links.page.qr_images import qr_png
from links.selectors import (
    link_object,
    link_page,
    link_template,
    links_of,
    parse_filter,
    payment_link,
    template_page,
    templates_of,
)
from links.serializers import NewLink, NewLinkStatus, NewLinkTemplate, read_changes
from links.states import LinkStatus
from links.tokens import link_url
from rates.selectors import is_priced

CREATE = Limit("links.create", 60)
READ = Limit("links.read", 120)
CHANGE = Limit("links.change", 60)
STATUS = Limit("links.status", 60)
TEMPLATES_WRITE = Limit("links.templates.write", 60)
TEMPLATES_READ = Limit("links.templates.read", 120)


class LinkViewSet(ApiViewSet):
    """`/api/v1/links`."""

    lookup_url_kwarg = "link_id"
    scopes: ClassVar = {
        "create": Scope.LINKS_WRITE,
        "list": Scope.LINKS_READ,
        "retrieve": Scope.LINKS_READ,
        "partial_update": Scope.LINKS_WRITE,
        "set_status": Scope.LINKS_WRITE,
        "qr_svg": Scope.LINKS_READ,
        "qr_png": Scope.LINKS_READ,
    }
    limits: ClassVar = {
        "create": CREATE,
        "list": READ,
        "retrieve": READ,
        "partial_update": CHANGE,
        "set_status": STATUS,
        "qr_svg": READ,
        "qr_png": READ,
    }

    @extend_schema(
        operation_id="createLink",
        tags=["Payment links"],
        request=serializers.NewLink,
        responses={201: serializers.PaymentLink, **errors(400, 401, 404, 409, 413, 415, 429)},
    )
    def create(self, request: Request) -> Response:
        """Create a payment link.

        With `template`, the template's values are used where the body has none; its amount only for a link in USD.

        409 `state_conflict`: the merchant account is closed.
        """
        principal = principal_of_request(request)
        body = json_body(request)
        template = _template_of(principal, text_in(body, "template", 40))
        if template is not None:
            said = NewLinkTemplate.as_sent(template)
            if is_priced(body.get("currency")):
                # A template's amount is in USD.
                del said["amount"]
            body = said | {name: value for name, value in body.items() if value is not None}
        link = create_link(
            principal.merchant_id, principal.mode, NewLink.read(body), template=template, now=timezone.now()
        )
        return Response(link_object(link), status=201)

    @extend_schema(
        operation_id="listLinks",
        tags=["Payment links"],
        parameters=[OpenApiParameter("status", str, enum=list(LinkStatus.values)), *PAGE_PARAMETERS],
        responses={200: serializers.LinkList, **errors(400, 401, 429)},
    )
    def list(self, request: Request) -> Response:
        """List payment links.

        Newest first.
        """
        principal = principal_of_request(request)
        wanted, page = parse_filter(principal.merchant_id, principal.mode, request.query_params)
        total = links_of(wanted).count() if page.include_total else None
        return Response(list_body(link_page(wanted, page), page, total))

    @extend_schema(
        operation_id="getLink",
        tags=["Payment links"],
        responses={200: serializers.PaymentLink, **errors(401, 404, 429)},
    )
    def retrieve(self, request: Request, link_id: str) -> Response:
        """Get a payment link.

        The answer includes the number of payments and the amount collected.
        """
        return Response(link_object(_link(request, link_id)))

    @extend_schema(
        operation_id="changeLink",
        tags=["Payment links"],
        request=serializers.LinkChanges,
        responses={200: serializers.PaymentLink, **errors(400, 401, 404, 409, 413, 415, 429)},
    )
    def partial_update(self, request: Request, link_id: str) -> Response:
        """Update a payment link.

        Existing checkouts stay as they are. 409 `state_conflict`: the amount of an invoice that is paid or being paid.
        """
        link, body = _link(request, link_id), json_body(request)
        with transaction.atomic():
            # Absent fields keep the values of the locked row, so that concurrent changes of other fields stay.
            held = locked_link(link)
            changed = change_link(held, read_changes(held, body), now=timezone.now(), by=actor_of(request))
        return Response(link_object(changed))

    @extend_schema(
        operation_id="setLinkStatus",
        tags=["Payment links"],
        request=serializers.NewLinkStatus,
        responses={200: serializers.PaymentLink, **errors(400, 401, 404, 413, 415, 429)},
    )
    @action(detail=True, methods=["patch"], url_path="status")
    def set_status(self, request: Request, link_id: str) -> Response:
        """Pause, archive or activate a link.

        Any status may change to any other.
        """
        link = _link(request, link_id)
        status = NewLinkStatus.read(json_body(request))["status"]
        changed = set_status(link, status, now=timezone.now(), by=actor_of(request))
        return Response(link_object(changed))

    @extend_schema(
        operation_id="getLinkQrSvg",
        tags=["Payment links"],
        responses={(200, "image/svg+xml"): OpenApiTypes.BINARY, **errors(401, 404, 429)},
    )
    @action(detail=True, url_path="qr.svg")
    def qr_svg(self, request: Request, link_id: str) -> HttpResponse:
        """Get a link's QR code as SVG."""
        return _image(qr_svg(_address(request, link_id)), "image/svg+xml", link_id)

    @extend_schema(
        operation_id="getLinkQrPng",
        tags=["Payment links"],
        responses={(200, "image/png"): OpenApiTypes.BINARY, **errors(401, 404, 429)},
    )
    @action(detail=True, url_path="qr.png")
    def qr_png(self, request: Request, link_id: str) -> HttpResponse:
        """Get a link's QR code as PNG.

        About 500 pixels wide.
        """
        return _image(qr_png(_address(request, link_id)), "image/png", link_id)


def _template_of(principal: Principal, public_id: str) -> LinkTemplate | None:
    if not public_id:
        return None
    return link_template(principal.merchant_id, principal.mode, public_id, param="template")


def _link(request: Request, link_id: str) -> PaymentLink:
    principal = principal_of_request(request)
    return payment_link(principal.merchant_id, principal.mode, link_id)


def _address(request: Request, link_id: str) -> str:
    return link_url(_link(request, link_id).code)


def _image(content: bytes, content_type: str, link_id: str) -> HttpResponse:
    extension = "svg" if content_type == "image/svg+xml" else "png"
    # An existing link's id: nothing in it needs quoting.
    name = f'inline; filename="{link_id}.{extension}"'
    return HttpResponse(content, content_type=content_type, headers={"Content-Disposition": name})


class TemplateViewSet(ApiViewSet):
    """`/api/v1/link_templates`."""

    lookup_url_kwarg = "template_id"
    scopes: ClassVar = {
        "create": Scope.LINKS_WRITE,
        "list": Scope.LINKS_READ,
        "retrieve": Scope.LINKS_READ,
        "destroy": Scope.LINKS_WRITE,
    }
    limits: ClassVar = {
        "create": TEMPLATES_WRITE,
        "list": TEMPLATES_READ,
        "retrieve": TEMPLATES_READ,
        "destroy": TEMPLATES_WRITE,
    }

    @extend_schema(
        operation_id="createLinkTemplate",
        tags=["Payment links"],
        request=serializers.NewLinkTemplate,
        responses={201: serializers.LinkTemplate, **errors(400, 401, 413, 415, 429)},
    )
    def create(self, request: Request) -> Response:
        """Create a link template.

        A template holds defaults for new links.
        """
        principal = principal_of_request(request)
        template = create_template(
            principal.merchant_id, principal.mode, NewLinkTemplate.read(json_body(request)), now=timezone.now()
        )
        return Response(serializers.LinkTemplate.of(template), status=201)

    @extend_schema(
        operation_id="listLinkTemplates",
        tags=["Payment links"],
        parameters=PAGE_PARAMETERS,
        responses={200: serializers.LinkTemplateList, **errors(400, 401, 429)},
    )
    def list(self, request: Request) -> Response:
        """List link templates.

        Newest first.
        """
        principal = principal_of_request(request)
        page = parse_page(request.query_params)
        rows = templates_of(principal.merchant_id, principal.mode)
        data = template_page(principal.merchant_id, principal.mode, page)
        total = rows.count() if page.include_total else None
        return Response(list_body(data, page, total))

    @extend_schema(
        operation_id="getLinkTemplate",
        tags=["Payment links"],
        responses={200: serializers.LinkTemplate, **errors(401, 404, 429)},
    )
    def retrieve(self, request: Request, template_id: str) -> Response:
        """Get a link template."""
        return Response(serializers.LinkTemplate.of(_template(request, template_id)))

    @extend_schema(
        operation_id="deleteLinkTemplate",
        tags=["Payment links"],
        responses={200: serializers.DeletedTemplate, **errors(401, 404, 429)},
    )
    def destroy(self, request: Request, template_id: str) -> Response:
        """Delete a link template.

        Links made from it stay.
        """
        delete_template(_template(request, template_id), now=timezone.now(), by=actor_of(request))
        return Response({"id": template_id, "deleted": True})


def _template(request: Request, template_id: str) -> LinkTemplate:
    principal = principal_of_request(request)
    return link_template(principal.merchant_id, principal.mode, template_id)
