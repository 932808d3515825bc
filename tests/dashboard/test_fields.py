"""A form of the dashboard says with each group of fields what is wrong with it, also to who hears it."""

import re

from django import forms
from django.template.loader import render_to_string

from tests.tree import ROOT, relative

ERRORS = re.compile(r'<ul class="field__errors"([^>]*(?:{{[^}]*}}[^>]*)*)>')
GROUP = re.compile(r"<fieldset\b(?:[^>]|(?<=%)>)*?field--wrong.*?(?<!%)>", re.DOTALL)


class Asked(forms.Form):
    """A group that must not be left empty."""

    networks = forms.MultipleChoiceField(
        choices=[("base", "Base"), ("tron", "Tron")], widget=forms.CheckboxSelectMultiple, help_text="At least one."
    )


def test_a_group_names_its_help_and_what_is_wrong_with_it() -> None:
    fresh = render_to_string("dashboard/parts/field.html", {"field": Asked()["networks"]})
    assert 'role="group" aria-labelledby="id_networks_label" aria-describedby="id_networks_helptext"' in fresh
    wrong = render_to_string("dashboard/parts/field.html", {"field": Asked({})["networks"]})
    assert 'aria-describedby="id_networks_helptext id_networks_error"' in wrong
    assert 'id="id_networks_error"' in wrong


def test_each_list_of_errors_has_an_id_and_each_group_names_it() -> None:
    groups = 0
    for path in sorted((ROOT / "templates/dashboard").rglob("*.html")):
        text, name = path.read_text(), relative(path)
        assert [found for found in ERRORS.findall(text) if "_error" not in found] == [], name
        for group in GROUP.findall(text):
            groups += 1
            assert "aria-describedby" in group, name
    assert groups == 6
