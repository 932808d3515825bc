"""First requests for one receipt at once, and processes that list a new key at once."""

from collections.abc import Iterator
from functools import partial

import pytest
from django.db import connection

from accounts.brand.facts import with_brand
from checkouts.lifecycle.signed_receipts import signed_receipt
from checkouts.models import Checkout, Receipt
from gateway.core.signing import KeyPurpose, SigningKey, jwks, sign
from tests.checkouts.factories import make_completed
from tests.concurrency.races import behind
from tests.factories import NOON

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

AT_ONCE = 6
# All may look for a receipt, or a key, and none writes one.
NO_RECEIPTS = "LOCK TABLE checkouts_receipt IN SHARE MODE"
NO_KEYS = "LOCK TABLE gateway_signingkey IN SHARE MODE"


def receipts_at_once() -> list[bytes]:
    """What each of several gets who ask for a checkout's first receipt at once."""
    checkout = with_brand(Checkout.objects.all()).get(pk=make_completed().pk)
    jwks(now=NOON)
    return behind(NO_RECEIPTS, works=[partial(signed_receipt, checkout, now=NOON)] * AT_ONCE)


def test_first_requests_at_once_get_the_same_bytes() -> None:
    tokens = receipts_at_once()
    kept = Receipt.objects.get()
    assert set(tokens) == {bytes(kept.jws)}


@pytest.fixture
def without_the_constraint() -> Iterator[None]:
    """A checkout may have several first receipts, as if the database promised nothing."""
    [constraint] = Receipt._meta.constraints
    with connection.schema_editor() as editor:
        editor.remove_constraint(Receipt, constraint)
    yield
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE checkouts_receipt")
    with connection.schema_editor() as editor:
        editor.add_constraint(Receipt, constraint)


@pytest.mark.usefixtures("without_the_constraint")
def test_without_the_constraint_each_would_get_another_receipt() -> None:
    """The negative control: looking first does not carry the promise, the constraint does."""
    assert len(set(receipts_at_once())) == Receipt.objects.count() == AT_ONCE


def keys_at_once() -> list[str]:
    """The ids of the keys that several processes list which all sign with a new key at once."""
    behind(NO_KEYS, works=[partial(sign, {}, KeyPurpose.RECEIPT, now=NOON)] * AT_ONCE)
    return list(SigningKey.objects.values_list("kid", flat=True))


def test_processes_that_sign_at_once_list_a_new_key_once() -> None:
    [kid] = keys_at_once()
    assert kid.endswith("#r1")


@pytest.fixture
def without_the_unique_key() -> Iterator[None]:
    """A key may be listed several times."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE gateway_signingkey DROP CONSTRAINT gateway_signingkey_kid_key")
    yield
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE gateway_signingkey")
        cursor.execute("ALTER TABLE gateway_signingkey ADD CONSTRAINT gateway_signingkey_kid_key UNIQUE (kid)")


@pytest.mark.usefixtures("without_the_unique_key")
def test_without_the_unique_key_each_would_list_it() -> None:
    """The negative control."""
    assert len(keys_at_once()) == AT_ONCE
