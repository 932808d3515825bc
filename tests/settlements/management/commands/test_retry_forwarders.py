"""A person has forwarders tried again."""

import pytest
from django.core.management import call_command

from settlements.models import TroubledForwarder
from tests.settlements.test_selectors import make_trouble

pytestmark = pytest.mark.django_db


def test_a_person_who_looked_lets_forwarders_be_tried_again(capsys: pytest.CaptureFixture[str]) -> None:
    trouble = make_trouble(3)
    call_command("retry_forwarders")
    assert f"{trouble.deposit} USDC: 3 failures" in capsys.readouterr().out
    assert TroubledForwarder.objects.exists()
    call_command("retry_forwarders", "--retry")
    assert not TroubledForwarder.objects.exists()
