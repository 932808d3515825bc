"""The team page: members and invitations; only owners change them."""

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.audit.actors import actor_of
from accounts.errors import TeamError
from accounts.models import Invitation, Membership, User
from accounts.states import Role
from accounts.team import service
from accounts.team.access import SeatedRequest, seated
from accounts.team.permissions import Act
from accounts.team.selectors import open_invitations, team_of
from gateway.core.web.form_errors import words_of

_ROLES = [
    (Role.VIEWER, _("Viewer: sees everything, changes nothing")),
    (Role.ADMIN, _("Admin: runs payments, webhooks and branding")),
    (Role.OWNER, _("Owner: also keys, receiving wallets and the team")),
]


class InvitationForm(forms.Form):
    """The address to invite, and its role."""

    email = forms.EmailField(
        label=_("E-mail address"), max_length=254, widget=forms.EmailInput(attrs={"autocomplete": "off"})
    )
    role = forms.ChoiceField(label=_("Role"), choices=_ROLES)


class RoleForm(forms.Form):
    """Another role for a member."""

    role = forms.ChoiceField(label=_("Role"), choices=[(role, role.label) for role in Role])


@seated(get=Act.SEE)
def team(request: SeatedRequest) -> HttpResponse:
    """Show who is in the team and who was invited."""
    return _page(request, InvitationForm(initial={"role": Role.VIEWER}))


@seated(post=Act.MANAGE_TEAM, fresh=True)
def invite(request: SeatedRequest) -> HttpResponse:
    """Invite a person by mail."""
    form = InvitationForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=422)
    try:
        service.invite(
            request.seat.merchant,
            email=form.cleaned_data["email"],
            role=Role(form.cleaned_data["role"]),
            actor=actor_of(request),
            now=timezone.now(),
        )
    except TeamError as error:
        form.add_error(None, words_of(error))
        return _page(request, form, status=409)
    messages.success(request, gettext("%(email)s was invited.") % {"email": form.cleaned_data["email"]})
    return _back(request)


@seated(post=Act.MANAGE_TEAM)
def withdraw(request: SeatedRequest, *, invitation_id: str) -> HttpResponse:
    """Withdraw an invitation."""
    of_merchant = Invitation.objects.select_related("merchant").filter(merchant=request.seat.merchant)
    invitation = of_merchant.filter(public_id=invitation_id).first()
    if invitation is None:
        raise Http404
    service.withdraw_invitation(invitation, actor=actor_of(request), now=timezone.now())
    messages.success(request, gettext("%(email)s is no longer invited.") % {"email": invitation.email})
    return _back(request)


@seated(post=Act.MANAGE_TEAM, fresh=True)
def set_role(request: SeatedRequest, *, user_id: str) -> HttpResponse:
    """Change a member's role."""
    member = _member(request, user_id)
    form = RoleForm(request.POST)
    if not form.is_valid():
        raise Http404
    try:
        service.change_role(
            request.seat.merchant,
            member=member,
            role=Role(form.cleaned_data["role"]),
            actor=actor_of(request),
            now=timezone.now(),
        )
    except TeamError as error:
        messages.error(request, words_of(error))
    else:
        messages.success(request, gettext("%(member)s has a new role.") % {"member": member})
    return _back(request)


@seated(post=Act.MANAGE_TEAM, fresh=True)
def remove(request: SeatedRequest, *, user_id: str) -> HttpResponse:
    """Remove a member from the team."""
    return _remove(request, _member(request, user_id))


@seated(post=Act.SEE)
def leave(request: SeatedRequest) -> HttpResponse:
    """Leave the team; every member may."""
    return _remove(request, request.user)


def _remove(request: SeatedRequest, member: User) -> HttpResponse:
    try:
        service.remove_member(request.seat.merchant, member=member, actor=actor_of(request), now=timezone.now())
    except TeamError as error:
        messages.error(request, words_of(error))
        return _back(request)
    messages.success(request, gettext("%(member)s is no longer in the team.") % {"member": member})
    if member == request.user:
        return HttpResponseRedirect("/dashboard/")
    return _back(request)


def _member(request: SeatedRequest, user_id: str) -> User:
    seats = Membership.objects.select_related("user").filter(merchant=request.seat.merchant)
    seat = seats.filter(user__public_id=user_id).first()
    if seat is None:
        raise Http404
    return seat.user


def _back(request: SeatedRequest) -> HttpResponse:
    return HttpResponseRedirect(request.seat.url("dashboard_team"))


def _page(request: SeatedRequest, form: InvitationForm, status: int = 200) -> HttpResponse:
    merchant = request.seat.merchant
    context = {
        "members": team_of(merchant),
        "invitations": open_invitations(merchant, now=timezone.now()),
        "form": form,
        "roles": Role,
    }
    return render(request, "dashboard/accounts/team.html", context, status=status)
