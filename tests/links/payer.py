"""A payer without a browser: reads the page's form, fills it in, and presses the button."""

import re
from dataclasses import dataclass
from typing import Any

from django.test import Client

from checkouts.models import Checkout

FORM = re.compile(r'name="form"\s+value="([^"]+)"')
CHECKOUT = re.compile(r"/c/([0-9a-z]{26})")


@dataclass(frozen=True)
class Payer:
    """Somebody who has a link's address."""

    client: Client

    def look(self, path: str, status: int = 200) -> str:
        """Open a page; return its text with white space as a browser shows it."""
        response = self.client.get(path)
        assert response.status_code == status
        return " ".join(response.content.decode().split())

    def form(self, path: str) -> str:
        """The token of the page's form."""
        match = FORM.search(self.look(path))
        assert match
        return match[1]

    def press(self, path: str, form: str | None = None, **filled: str) -> Any:
        """Send the form, of a page opened just now unless one is given."""
        token = form if form is not None else self.form(path)
        return self.client.post(path, {"form": token, **filled})

    def pay(self, path: str, form: str | None = None, **filled: str) -> Checkout:
        """Press Pay; return the checkout it led to."""
        return checkout_behind(self.press(path, form, **filled))


def checkout_behind(response: Any) -> Checkout:
    """The checkout a response leads to."""
    assert response.status_code == 303, response.content
    match = CHECKOUT.search(response["Location"])
    assert match
    return Checkout.objects.get(code=match[1])
