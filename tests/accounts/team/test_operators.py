"""Who the operators are."""

import pytest

from accounts.team.operators import has_factor, operators
from tests.factories import make_user
from tests.gateway.operator.people import make_operator

pytestmark = pytest.mark.django_db


def test_operators_are_the_staff_that_may_log_in_oldest_first() -> None:
    first, second, gone = make_operator(), make_operator(), make_operator()
    gone.is_active = False
    gone.save()
    make_user()
    assert list(operators()) == [first, second]


def test_a_second_factor_is_an_app_or_a_key_and_a_password_is_none() -> None:
    assert has_factor(make_operator())
    assert not has_factor(make_user())
