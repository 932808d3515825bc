"""The inbox API: what waits for a person, and what became of it. Decisions are made in the dashboard alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.keys.authentication import Principal, principal_of_request
from checkouts.inbox import serializers
from checkouts.inbox.queries import with_rows
from checkouts.inbox.serializers import item_objects, parse_item_id
from checkouts.models import InboxItem
from checkouts.states import InboxReason, InboxStatus
from gateway.core.api.errors import InvalidRequestError, NotFoundError
from gateway.core.api.openapi import PAGE_PARAMETERS, errors
from gateway.core.api.pagination import Page, list_body, parse_page, parse_text
from gateway.core.api.rate_limits import Limit
from gateway.core.api.scopes import Scope
from gateway.core.api.views import ApiViewSet
from wallets.transfers.selectors import parse_chain

READ: Final = Limit("inbox", 60)


@dataclass(frozen=True, slots=True)
class InboxFilter:
    """The filters of a list of items. Empty texts exclude nothing."""

    status: str = ""
    reason: str = ""
    chain: str = ""
    checkout_id: str = ""


def parse_filter(query: Mapping[str, str]) -> InboxFilter:
    """Read the filters of a query string. Raises InvalidRequestError."""
    return InboxFilter(
        status=_one_of(query, "status", InboxStatus.values),
        reason=_one_of(query, "reason", InboxReason.values),
        chain=parse_chain(query),
        checkout_id=parse_text(query, "checkout_id") or "",
    )


def _one_of(query: Mapping[str, str], name: str, known: list[str]) -> str:
    text = parse_text(query, name) or ""
    if text and text not in known:
        raise InvalidRequestError(f"{name} must be one of {', '.join(known)}.", param=name)
    return text


def items_wanted(principal: Principal, wanted: InboxFilter) -> QuerySet[InboxItem]:
    """Return the items of the key's merchant and mode that match, newest first."""
    found = _items_of(principal).order_by("-pk")
    columns = {
        "status": wanted.status,
        "reason": wanted.reason,
        "transfer__chain": wanted.chain,
        "checkout__public_id": wanted.checkout_id,
    }
    return found.filter(**{name: value for name, value in columns.items() if value})


def item_page(principal: Principal, wanted: InboxFilter, page: Page) -> list[InboxItem]:
    """Return a page of items with the data of their rows. Raises InvalidRequestError for an unknown starting_after."""
    found, offset = items_wanted(principal, wanted), page.offset
    if page.starting_after is not None:
        last = _named(principal, page.starting_after)
        if last is None:
            raise InvalidRequestError("starting_after names no inbox item of yours.", param="starting_after")
        found, offset = found.filter(pk__lt=last.pk), 0
    return list(with_rows(found)[offset : offset + page.limit])


def _items_of(principal: Principal) -> QuerySet[InboxItem]:
    return InboxItem.objects.filter(merchant=principal.merchant_id, mode=principal.mode)


def _named(principal: Principal, public_id: str) -> InboxItem | None:
    named = parse_item_id(public_id)
    return with_rows(_items_of(principal).filter(**named)).first() if named else None


class InboxViewSet(ApiViewSet):
    """`/api/v1/inbox`."""

    lookup_url_kwarg = "item_id"
    scopes: ClassVar = {"list": Scope.INBOX_READ, "retrieve": Scope.INBOX_READ}
    limits: ClassVar = {"list": READ, "retrieve": READ}

    @extend_schema(
        operation_id="listInboxItems",
        tags=["Inbox"],
        parameters=[
            OpenApiParameter("status", str, enum=InboxStatus.values, description="`open`: waits for a person."),
            OpenApiParameter("reason", str, enum=InboxReason.values),
            OpenApiParameter("chain", str),
            OpenApiParameter(
                "checkout_id", str, description="Only money that names, had paid or is for this checkout."
            ),
            *PAGE_PARAMETERS,
        ],
        responses={200: serializers.InboxList, **errors(400, 401, 429)},
    )
    def list(self, request: Request) -> Response:
        """List inbox items.

        Newest first. An item is money that no rule could credit, with the reason and the checkouts it may be for. A person
        decides about it in the dashboard.
        """
        principal, query = principal_of_request(request), request.query_params
        wanted, page = parse_filter(query), parse_page(query)
        data = item_objects(item_page(principal, wanted, page))
        total = items_wanted(principal, wanted).count() if page.include_total else None
        return Response(list_body(data, page, total))

    @extend_schema(
        operation_id="getInboxItem", tags=["Inbox"], responses={200: serializers.InboxItem, **errors(401, 404, 429)}
    )
    def retrieve(self, request: Request, item_id: str) -> Response:
        """Get an inbox item.

        Once it is closed, `outcome` says how.
        """
        found = _named(principal_of_request(request), item_id)
        if found is None:
            raise NotFoundError(f"There is no inbox item {item_id}.", param="item_id")
        [shown] = item_objects([found])
        return Response(shown)
