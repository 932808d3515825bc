"""The recorded requests of five shop plugins, sent in their order: each answer has what the plugin reads, in the type that it needs."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from accounts.models import ApiKey
from checkouts.inbox.successors import accept_late
from checkouts.models import InboxItem
from tests.contract.payments import expire, pay
from tests.dashboard.people import Desk
from tests.greenfield.plugin import MAGENTO, OPENCART, PRESTASHOP, SHOPWARE, WOO, Plugin, make_live_plugin
from tests.greenfield.test_api import OPERATIONS
from tests.greenfield.test_invoices import restore, reverse
from tests.greenfield.test_webhooks import heard_now
from tests.tree import ROOT
from wallets.models import Transfer

pytestmark = pytest.mark.django_db

FOLDER = Path(__file__).parent / "recorded"
ASKED_FOR = {
    "woocommerce": WOO,
    "prestashop": PRESTASHOP,
    "magento": MAGENTO,
    "shopware": SHOPWARE,
    "opencart": OPENCART,
}
RECORDED: dict[str, Any] = {name: json.loads((FOLDER / f"{name}.json").read_text()) for name in ASKED_FOR}
LIBRARY = "greenfield-php"
"""The PHP library of most plugins. It was run against a live server, and its requests were kept."""
SHOP = "woocommerce-shop"
"""WooCommerce's plugin again, in a shop that was run: what it sent there, and what it heard."""
ASKED = RECORDED | {name: json.loads((FOLDER / f"{name}.json").read_text()) for name in (LIBRARY, SHOP)}
CONSENTED = [name for name, told in RECORDED.items() if "consent" in told]

KINDS: dict[str, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str),
    "number": lambda value: type(value) in {int, float},
    "true": lambda value: value is True,
    "false": lambda value: value is False,
    "list": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "empty": lambda value: value == [],
}


@dataclass
class Replay:
    """A plugin at work, and what it kept."""

    told: Any
    plugin: Plugin
    kept: dict[str, str] = field(default_factory=dict)
    transfers: dict[str, Transfer] = field(default_factory=dict)
    heard: int = 0

    def play(self, step: Any) -> list[str]:
        """Do a step; return what came otherwise than the plugin needs it."""
        if "happens" in step:
            HAPPENINGS[step["happens"]](self, self.kept[step.get("to", "invoice")])
            return []
        if "hears" in step:
            return self._hear(step["hears"])
        return self._ask(step)

    def filled(self, value: Any) -> Any:
        """A value with what was kept in place of its words."""
        if isinstance(value, dict):
            return {name: self.filled(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self.filled(each) for each in value]
        if isinstance(value, str):
            for name, each in self.kept.items():
                value = value.replace(f"{{{name}}}", each)
        return value

    def _ask(self, step: Any) -> list[str]:
        path, _, query = self.filled(step["path"]).partition("?")
        body = b"" if "body" not in step else json.dumps(self.filled(step["body"])).encode()
        # Without a body Django's client leaves the type out.
        typed: dict[str, Any] = (
            {"CONTENT_TYPE": "application/json"} if body or self.told["json_type_of_every_request"] else {}
        )
        client = Client(raise_request_exception=False, REMOTE_ADDR=self.plugin.address)
        answer = client.generic(
            step["method"],
            self.told["asks_at"] + path,
            body,
            "application/json",
            QUERY_STRING=query,
            HTTP_AUTHORIZATION=f"token {self.plugin.key}",
            HTTP_ACCEPT="application/json",
            **typed,
        )
        if answer.status_code != step.get("status", 200):
            return [f"{step['method']} {path}: {answer.status_code} {answer.text}"]
        found = json.loads(answer.content)
        old = self.kept.get(step.get("other_than", ""))
        for name, place in step.get("keeps", {}).items():
            [self.kept[name]] = values_at(found, place)
        faults = [f"{path}: {fault}" for fault in self._faults(found, step.get("reads", {}))]
        return faults + ([f"{path}: the same as before"] if old is not None and found["id"] == old else [])

    def _hear(self, wanted: Any) -> list[str]:
        came, self.heard = heard_now(self.heard)
        types = [one["type"] for one in came]
        if types != [name for name, _ in wanted]:
            return [f"heard {types} instead of {[name for name, _ in wanted]}"]
        return [
            f"{name}: {fault}"
            for one, (name, reads) in zip(came, wanted, strict=True)
            for fault in self._faults(one, reads)
        ]

    def _faults(self, found: Any, reads: Any) -> Iterator[str]:
        for place, kind in reads.items():
            values = list(values_at(found, place))
            if not values:
                yield f"nothing at {place!r}"
            yield from (f"{place!r} is {value!r}, not {kind}" for value in values if not self._fits(value, kind))

    def _fits(self, value: Any, kind: str) -> bool:
        if kind == "permissions":
            store = self.plugin.merchant.public_id
            return sorted(value) == sorted(f"{name}:{store}" for name in self.told["permissions"])
        if kind.startswith("="):
            return bool(value == self.filled(kind[1:]))
        return KINDS[kind](value)


def values_at(found: Any, place: str) -> Iterator[Any]:
    """What stands at a place of an answer, such as `0.id`; `*` stands for each. Nothing where there is no such place."""
    name, _, rest = place.partition(".")
    if not place:
        yield found
    elif name == "*":
        for each in found.values() if isinstance(found, dict) else found:
            yield from values_at(each, rest)
    elif isinstance(found, dict) and name in found:
        yield from values_at(found[name], rest)
    elif isinstance(found, list) and name.isdigit() and int(name) < len(found):
        yield from values_at(found[int(name)], rest)


def _pay(replay: Replay, invoice: str, *, final: bool) -> None:
    replay.transfers[invoice] = pay(invoice, final=final)


def _accept_late(_replay: Replay, invoice: str) -> None:
    pay(invoice)
    with transaction.atomic():
        accept_late(InboxItem.objects.get(checkout__public_id=invoice), now=timezone.now())


HAPPENINGS: dict[str, Callable[[Replay, str], object]] = {
    "seen": lambda replay, invoice: _pay(replay, invoice, final=False),
    "is paid at once": lambda replay, invoice: _pay(replay, invoice, final=True),
    "final": lambda replay, invoice: restore(replay.transfers[invoice]),
    "is taken back": lambda replay, invoice: reverse(replay.transfers[invoice]),
    "half is paid": lambda _replay, invoice: pay(invoice, 50),
    "twice the price is paid": lambda _replay, invoice: pay(invoice, 200),
    "expires": lambda _replay, invoice: expire(invoice),
    "late money is accepted": _accept_late,
}


@pytest.mark.parametrize("name", ASKED)
def test_the_facade_answers_a_plugins_requests_as_it_needs_them(name: str, local_nodes: None) -> None:
    told = ASKED[name]
    plugin = make_live_plugin(tuple(told["permissions"]))
    replay = Replay(told, plugin, {"store": plugin.merchant.public_id})
    for sequence in told["sequences"]:
        for number, step in enumerate(sequence["steps"]):
            faults = replay.play(step)
            assert faults == [], f"{told['plugin']}, {sequence['name']}, step {number}: {faults}"


@pytest.mark.parametrize("name", CONSENTED)
def test_the_consent_page_takes_each_plugins_address_and_sends_the_key_where_it_says(name: str, owner: Desk) -> None:
    told = RECORDED[name]
    assert owner.client.get(told["consent"]).status_code == 200
    page = owner.client.post(told["consent"], {"store": f"{owner.merchant.public_id}/live"})
    [redirect] = parse_qs(urlsplit(told["consent"]).query)["redirect"]
    assert f'action="{redirect}"' in page.text.replace("&amp;", "&")
    # Some take the store from the first permission.
    assert f"{told['permissions'][0]}:{owner.merchant.public_id}" in page.text
    assert ApiKey.objects.count() == 1


@pytest.mark.parametrize(("name", "permissions"), ASKED_FOR.items())
def test_what_is_recorded_is_what_the_other_tests_ask_for(name: str, permissions: tuple[str, ...]) -> None:
    told = RECORDED[name]
    assert tuple(told["permissions"]) == permissions
    if name in CONSENTED:
        assert sorted(parse_qs(urlsplit(told["consent"]).query)["permissions"]) == sorted(permissions)


def rows_of_the_guide() -> dict[str, list[str]]:
    """The cells of each request in the guide's table, with the store's path in place of its sign."""
    lines = (ROOT / "docs/guide/btcpay.md").read_text().splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith("| request |"))
    found = {}
    for line in lines[begin + 2 :]:
        if not line.startswith("|"):
            break
        request, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        found[request.strip("`").replace("…", "/stores/{store}")] = cells
    return found


def requests_of(told: Any) -> set[str]:
    """The requests of a plugin by the names that the guide's table has."""
    steps = [step for sequence in told["sequences"] for step in sequence["steps"] if "method" in step]
    return {f"{step['method']} {step['path'].partition('?')[0].replace('{left}', '{invoice}')}" for step in steps}


def test_the_guide_names_each_request_of_each_plugin_and_every_route_there_is() -> None:
    rows = rows_of_the_guide()
    for number, told in enumerate(RECORDED.values()):
        wanted = requests_of(told) | {"webhooks to the shop"}
        if "consent" in told:
            wanted.add("GET /btcpay/api-keys/authorize")
        found = {request for request, cells in rows.items() if "replayed" in cells[number]}
        assert found == wanted, told["plugin"]
    # What a browser asked for in the shop is no request of the plugin's.
    browser = {
        "GET /btcpay/api-keys/authorize",
        "GET /btcpay/i/{invoice}",
        "GET /btcpay/modal/btcpay.js",
        "webhooks to the shop",
    }
    assert {request for request, cells in rows.items() if "run" in cells[0]} == requests_of(ASKED[SHOP]) | browser
    named = {request for request in rows if request.split()[-1].startswith("/s") or "api-keys/current" in request}
    assert named == {
        f"{method} /{path.replace('str:', '').replace('<', '{').replace('_id>', '}')}" for method, path in OPERATIONS
    }
    # No request is there that was tried by nothing.
    assert all(any(cells) for cells in rows.values())


def test_the_replay_sees_a_type_that_a_plugin_cannot_read(woo: Plugin) -> None:
    replay = Replay(RECORDED["woocommerce"], woo, {"store": woo.merchant.public_id})
    step = {"method": "GET", "path": "/stores", "reads": {"0.id": "number", "0.nothing": "text", "*.archived": "true"}}
    found = replay.play(step)
    assert [fault.partition(": ")[2].partition(" is ")[0] for fault in found] == [
        "'0.id'",
        "nothing at '0.nothing'",
        "'*.archived'",
    ]
    [refused] = replay.play({"method": "GET", "path": "/stores/{store}/users"})
    assert " 404 " in refused
    assert replay.play({"hears": [["InvoiceSettled", {}]]}) == ["heard [] instead of ['InvoiceSettled']"]
