"""The descriptions of a link and a template have what is sent."""

import pytest

from links.models import PaymentLink
from links.payloads import NOTHING, link_payload, template_payload
from links.schemas import LinkTemplate as DescribedTemplate
from links.schemas import PaymentLink as DescribedLink
from tests.links.factories import make_link, make_template

pytestmark = pytest.mark.django_db


def test_the_description_of_a_link_has_the_fields_of_a_link() -> None:
    link: PaymentLink = make_link()
    assert set(DescribedLink().get_fields()) == set(link_payload(link, NOTHING))


def test_the_description_of_a_template_has_the_fields_of_a_template() -> None:
    payload = template_payload(make_template())
    assert set(DescribedTemplate().get_fields()) == set(payload)
