"""What every list of the operator's has in common: it is read, and changed by services alone."""

from typing import TYPE_CHECKING, Any

from django.contrib.admin import ModelAdmin
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse

from gateway.operator.areas import title_at

if TYPE_CHECKING:  # generic for the type checker alone
    _Admin = ModelAdmin[Model]
else:
    _Admin = ModelAdmin


class ReadOnlyAdmin(_Admin):
    """Rows to look at. Who may come in is decided at the door, by the site."""

    show_full_result_count = False
    list_per_page = 50

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Everybody who came in sees it."""
        return True

    def has_view_permission(
        self, request: HttpRequest, obj: Model | None = None
    ) -> bool:
        """Everybody who came in reads it."""
        return True

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody adds rows by hand."""
        return False

    def has_change_permission(
        self, request: HttpRequest, obj: Model | None = None
    ) -> bool:
        """Nobody changes rows by hand."""
        return False

    def has_delete_permission(
        self, request: HttpRequest, obj: Model | None = None
    ) -> bool:
        """Nobody deletes rows by hand."""
        return False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Let addresses ask for what the filters offer: any column at all would let a hash be guessed bit by bit."""
        return lookup.split("__")[0] in self.get_list_filter(request)

    def changelist_view(
        self, request: HttpRequest, extra_context: Any = None
    ) -> HttpResponse:
        """Show the list under the name that it has in the sidebar."""
        named = (extra_context or {}) | {"title": title_at(request.path)}
        return super().changelist_view(request, named)

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: Any = None
    ) -> HttpResponse:
        """The audit log is the one history there is. Raises Http404."""
        raise Http404
