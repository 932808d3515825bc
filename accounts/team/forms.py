"""Forms for merchants and teams."""

from django import forms

from accounts.states import Role
from accounts.words import LineField

_ROLES = [
    (Role.VIEWER, "Viewer: sees everything, changes nothing"),
    (Role.ADMIN, "Admin: runs payments, webhooks and branding"),
    (Role.OWNER, "Owner: also keys, receiving wallets, fees and the team"),
]


class MerchantForm(forms.Form):
    """The name of a business."""

    name = LineField(
        label="Name of your business",
        max_length=120,
        help_text="Buyers see it when they pay.",
        widget=forms.TextInput(attrs={"autocomplete": "organization"}),
    )


class InvitationForm(forms.Form):
    """The address to invite, and its role."""

    email = forms.EmailField(
        label="E-mail address", max_length=254, widget=forms.EmailInput(attrs={"autocomplete": "off"})
    )
    role = forms.ChoiceField(label="Role", choices=_ROLES)


class RoleForm(forms.Form):
    """Another role for a member."""

    role = forms.ChoiceField(label="Role", choices=[(role, role.label) for role in Role])
