"""People: the operator revokes and restores a person's access."""

from django.contrib import messages
from django.contrib.admin import action
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from accounts.login.people import set_active
from accounts.models import User
from gateway.core.web.client_address import address_or_none
from gateway.operator.access import operator_of
from gateway.operator.lists import ReadOnlyAdmin


class UserAdmin(ReadOnlyAdmin):
    """All people who can log in. Teams manage their own roles."""

    list_display = ["email", "name", "is_active", "is_staff", "created_at"]
    list_filter = ["is_active", "is_staff"]
    search_fields = ["email", "name", "public_id"]
    ordering = ["-pk"]
    # Never all columns: one of them is the password's hash.
    fields = ["public_id", "email", "name", "is_active", "is_staff", "created_at"]
    actions = ["deactivate", "reactivate"]

    @action(description="Deactivate: end all sessions and refuse new ones")
    def deactivate(self, request: HttpRequest, people: QuerySet[User]) -> None:
        """Revoke these people's access, except the operator's own."""
        self._switch(request, people.exclude(pk=operator_of(request).pk), is_active=False)

    @action(description="Let in again")
    def reactivate(self, request: HttpRequest, people: QuerySet[User]) -> None:
        """Restore these people's access."""
        self._switch(request, people, is_active=True)

    def _switch(self, request: HttpRequest, people: QuerySet[User], *, is_active: bool) -> None:
        address, now = address_or_none(request), timezone.now()
        changed = sum(
            set_active(person.pk, is_active=is_active, actor=operator_of(request), address=address, now=now)
            for person in people
        )
        messages.success(request, f"Changed: {changed}.")
