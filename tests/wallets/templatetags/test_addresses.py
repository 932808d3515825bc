"""Addresses as people read them, in templates."""

from django.template import Context, Template

from tests.factories import WALLET


def test_templates_write_addresses_as_people_read_them() -> None:
    template = Template("{% load addresses %}{{ address|shown_address }}")
    assert template.render(Context({"address": WALLET})) == WALLET
