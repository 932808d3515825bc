"""How the login library's fields read."""

from django import forms

from accounts.login.plain_fields import PlainFields


class Library(forms.Form):
    email = forms.EmailField(widget=forms.EmailInput({"placeholder": "Email"}))
    password1 = forms.CharField(help_text="<ul><li>rules</li></ul>")
    password2 = forms.CharField(help_text="again")
    code = forms.CharField(label="Code")


class Ours(PlainFields, Library):
    pass


def test_a_label_says_what_a_field_is_and_nothing_inside_it_does() -> None:
    fields = Ours().fields
    assert fields["email"].label == "E-mail address"
    assert "placeholder" not in fields["email"].widget.attrs
    assert fields["code"].label == "Code"


def test_a_new_password_has_one_hint_and_its_repetition_none() -> None:
    fields = Ours().fields
    assert fields["password1"].help_text.startswith("At least ten characters")
    assert fields["password2"].help_text == ""
