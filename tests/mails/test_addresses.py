"""Hiding the name in an e-mail address."""

import pytest

from mails.addresses import masked, masked_in


@pytest.mark.parametrize(
    ("email", "shown"),
    [
        ("ana@halden.example", "a•••@halden.example"),
        ('"a@b"@halden.example', '"•••@halden.example'),
        ("", ""),
        ("no address", ""),
    ],
)
def test_one_letter_of_the_name_is_shown(email: str, shown: str) -> None:
    assert masked(email) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"buyerEmail":"ana@halden.example","n":1.10}', '{"buyerEmail":"a•••@halden.example","n":1.10}'),
        (r'{"a":"line\nbo@x.example"}', r'{"a":"line\n•••@x.example"}'),
        (r'{"a":"\"a b\"@x.example"}', r'{"a":"•••@x.example"}'),
        ("Ana <ana+shop@halden.example>, bo@x.example", "Ana <a•••@halden.example>, b•••@x.example"),
        ("https://shop.example/?to=ana%40x.example&n=1", "https://shop.example/?to=a•••%40x.example&n=1"),
        ("zoë@halden.example", "z•••@halden.example"),
        ("ana@[192.0.2.1]", "a•••@[192.0.2.1]"),
        ("@florin pays 3 @ 2", "@florin pays 3 @ 2"),
        ("", ""),
    ],
)
def test_every_address_in_a_text_is_masked(text: str, shown: str) -> None:
    assert masked_in(text) == shown
