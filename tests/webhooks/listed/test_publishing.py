"""Who receives an event beside the checkout's URL or the default endpoint, and with which secret it is signed."""

from threading import Event as Gate
from typing import Any

import pytest
import standardwebhooks
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.audit.actors import SYSTEM
from accounts.models import Merchant
from accounts.states import Mode
from tests.factories import NOON, make_merchant
from tests.waiting import wait_until
from tests.webhooks.factories import HOOK, make_endpoint, new_event, secrets_of
from tests.webhooks.receiver import Receiver, Reply, receiving
from tests.webhooks.senders import sending
from webhooks.endpoints.samples import send_sample
from webhooks.endpoints.secrets import ensure_secret
from webhooks.listed.service import add_endpoint
from webhooks.models import Delivery, Endpoint
from webhooks.outbox.events import _FIND_ENDPOINTS, publish

OWN = "https://shop.example/own"


def listed(merchant: Merchant, url: str, *events: str, mode: Mode = Mode.LIVE, on: bool = True) -> tuple[Endpoint, str]:
    """A listed endpoint that receives these types, or all, and its secret."""
    values = {"url": url, "name": "", "events": list(events) or None, "is_enabled": on}
    return add_endpoint(merchant, mode=mode, values=values, now=NOON)


def told(merchant: Merchant, **event: Any) -> list[str]:
    """Where a new event goes."""
    rows = publish([new_event(merchant, **event)], now=NOON)
    return list(Delivery.objects.filter(event__in=rows).order_by("pk").values_list("endpoint__url", flat=True))


@pytest.mark.django_db
def test_listed_endpoints_receive_what_they_chose_beside_the_one_that_the_rule_names(merchant: Merchant) -> None:
    make_endpoint(merchant, HOOK)
    listed(merchant, "https://all.example/")
    listed(merchant, "https://expired.example/", "checkout.expired")
    listed(merchant, "https://test.example/", mode=Mode.TEST)
    listed(make_merchant(), "https://stranger.example/")
    assert told(merchant) == [HOOK, "https://all.example/"]
    assert told(merchant, type="checkout.expired") == [HOOK, "https://all.example/", "https://expired.example/"]
    assert told(merchant, url=OWN) == [OWN, "https://all.example/"]
    assert told(merchant, mode=Mode.TEST) == ["https://test.example/"]


@pytest.mark.django_db
def test_an_endpoint_receives_an_event_once_also_where_the_checkout_names_it(merchant: Merchant) -> None:
    make_endpoint(merchant, HOOK)
    listed(merchant, "https://all.example/")
    # The checkout chose it, whatever it receives otherwise.
    listed(merchant, OWN, "checkout.expired")
    assert told(merchant, url=OWN) == [OWN, "https://all.example/"]
    assert told(merchant, url="https://all.example/") == ["https://all.example/"]


@pytest.mark.django_db
def test_without_a_default_endpoint_listed_ones_are_told_and_a_disabled_ones_events_are_held(
    merchant: Merchant,
) -> None:
    listed(merchant, "https://off.example/", on=False)
    assert told(merchant) == ["https://off.example/"]
    assert Delivery.objects.get().status == "held"


@pytest.mark.django_db
def test_a_test_event_goes_to_its_endpoint_alone(merchant: Merchant) -> None:
    listed(merchant, "https://all.example/")
    endpoint, _ = listed(merchant, OWN, "checkout.expired")
    assert send_sample(endpoint, now=NOON, actor=SYSTEM).endpoint == endpoint
    assert Delivery.objects.count() == 1


@pytest.mark.django_db
def test_a_merchant_with_one_endpoint_pays_no_statement_more(merchant: Merchant) -> None:
    make_endpoint(merchant, HOOK)
    with CaptureQueriesContext(connection) as one:
        told(merchant)
    for number in range(3):
        listed(merchant, f"https://{number}.example/")
    with CaptureQueriesContext(connection) as four:
        assert len(told(merchant)) == 4
    assert len(one) == len(four)


@pytest.mark.django_db
def test_listed_endpoints_are_found_without_a_look_at_those_of_checkouts(merchant: Merchant) -> None:
    listed(merchant, "https://all.example/")
    rows = [Endpoint(merchant=merchant, mode="live", url=f"https://shop.example/{number}") for number in range(2_000)]
    Endpoint.objects.bulk_create(rows, batch_size=1_000)
    columns: dict[str, Any] = {
        "merchants": [merchant.pk],
        "modes": ["live"],
        "urls": [OWN],
        "types": ["checkout.completed"],
    }
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE webhooks_endpoint")
        cursor.execute("EXPLAIN " + _FIND_ENDPOINTS, columns)
        plan = "\n".join(line for (line,) in cursor)
    # By merchant, or as here, where a single one is listed, through all that are.
    assert "endpoint_added" in plan or "endpoint_id_once" in plan
    assert "Seq Scan" not in plan


@pytest.mark.django_db(transaction=True)
def test_each_endpoint_verifies_by_its_own_secret_and_by_no_other(merchant: Merchant) -> None:
    with receiving() as first, receiving() as second, receiving() as third:
        make_endpoint(merchant, first.url)
        own = {
            "first": "",
            **{one: listed(merchant, url.url)[1] for one, url in (("second", second), ("third", third))},
        }
        # The merchant's is there before anything is signed, so that it could be taken for an endpoint's.
        ensure_secret(merchant, now=NOON)
        publish([new_event(merchant)], now=NOON)
        with sending():
            wait_until(lambda: Delivery.objects.filter(status="delivered").count() == 3)
    own["first"] = secrets_of(merchant, now=NOON)[0]
    for name, receiver in (("first", first), ("second", second), ("third", third)):
        assert verified_by(receiver, own) == {name}


def verified_by(receiver: Receiver, secrets: dict[str, str]) -> set[str]:
    """The names of the secrets by which the only request verifies."""
    (got,) = receiver.got
    found = set()
    for name, secret in secrets.items():
        try:
            standardwebhooks.Webhook(secret).verify(got.body, dict(got.headers))
        except standardwebhooks.WebhookVerificationError:
            continue
        found.add(name)
    return found


@pytest.mark.django_db(transaction=True)
def test_a_slow_endpoint_delays_no_other(merchant: Merchant) -> None:
    with receiving() as slow, receiving() as quick:
        answers = Gate()
        slow.reply = lambda _: Reply(release=answers)
        listed(merchant, slow.url)
        listed(merchant, quick.url)
        publish([new_event(merchant) for _ in range(8)], now=NOON)
        with sending():
            wait_until(lambda: quick.has_got(8))
            assert len(slow.got) <= 2
            answers.set()
            wait_until(lambda: slow.has_got(8))
