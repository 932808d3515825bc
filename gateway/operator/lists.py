"""Base class of the operator's lists: read-only; only services change rows."""

from typing import TYPE_CHECKING, Any

from django.contrib.admin import ModelAdmin
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse

from gateway.operator.site import title_at

if TYPE_CHECKING:  # generic for the type checker alone
    _Admin = ModelAdmin[Model]
else:
    _Admin = ModelAdmin


class ReadOnlyAdmin(_Admin):
    """Read-only rows. The site decides on access."""

    show_full_result_count = False
    list_per_page = 50

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Return True: every operator sees it."""
        return True

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Return True: every operator reads it."""
        return True

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return False: no rows are added by hand."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Return False: no rows are changed by hand."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Return False: no rows are deleted by hand."""
        return False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Allow only the filters' own lookups: with any column, a hash could be guessed bit by bit."""
        return lookup.split("__")[0] in self.get_list_filter(request)

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Show the list under its sidebar name."""
        named = (extra_context or {}) | {"title": title_at(request.path)}
        return super().changelist_view(request, named)

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """Raise Http404: the audit log is the only history."""
        raise Http404
