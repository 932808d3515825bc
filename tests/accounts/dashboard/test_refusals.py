"""Forms that did not come from a page of ours."""

import pytest
from django.test import Client


@pytest.mark.django_db
def test_a_forged_form_is_answered_in_words() -> None:
    answer = Client(enforce_csrf_checks=True).post("/account/login/", {"login": "a"})
    assert answer.status_code == 403
    assert "account/forged.html" in [template.name for template in answer.templates]
