"""Pages of the documentation, as a client gets them."""

from django.test import Client


def get(address: str, **headers: str) -> str:
    """The body of a page that is there."""
    answer = Client().get(address, headers=headers)
    assert answer.status_code == 200, address
    return answer.content.decode()
