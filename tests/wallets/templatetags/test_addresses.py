"""Addresses as people read them, in templates."""

from django.template import Context, Template

from tests.factories import WALLET
from wallets.dashboard.rows import MarkedAddress


def test_templates_write_addresses_as_people_read_them() -> None:
    template = Template("{% load addresses %}{{ address|shown_address }}")
    assert template.render(Context({"address": WALLET})) == WALLET


def test_what_people_compare_of_an_address_is_bold() -> None:
    template = Template("{% load addresses %}{% address address %}")
    written = template.render(Context({"address": MarkedAddress("0xAb", "cdef", "9<3")}))
    assert written == '<span class="mono address"><b>0xAb</b>cdef<b>9&lt;3</b></span>'
