"""Every code of the contract's table: provoked here, or listed with the reason why nothing can provoke it yet."""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from accounts.keys.service import revoke_api_key
from accounts.states import Mode
from tests.checkouts.crowds import make_holders
from tests.contract.authorizing import authorize, signed_by_another
from tests.contract.client import Answer, ApiClient, client_of
from tests.contract.machines import MACHINES, VERIFY, same_key
from tests.contract.payments import pay
from tests.contract.refunding import PAYOUT, refund_too_much
from tests.factories import NOON, USDC_ON_BASE, make_key, make_merchant
from tests.tree import ROOT

pytestmark = pytest.mark.django_db

# The contract's table. 429 has no code.
TABLE: dict[int, tuple[str, set[str]]] = {
    400: (
        "invalid_request",
        {
            "json_invalid",
            "parameter_missing",
            "parameter_invalid",
            "parameter_too_long",
            "amount_not_string",
            "amount_invalid",
            "amount_out_of_range",
            "currency_unsupported",
            "metadata_too_large",
            "expires_in_out_of_range",
            "url_invalid",
            "url_forbidden",
            "chain_unsupported",
            "token_unsupported",
            "address_invalid",
            "address_forbidden",
            "status_invalid",
            "signature_invalid",
        },
    ),
    401: ("authentication", {"key_missing", "key_invalid", "key_revoked", "key_expired"}),
    403: ("permission", {"role_insufficient", "scope_insufficient", "network_forbidden"}),
    404: ("not_found", {"resource_missing", "route_missing"}),
    405: ("invalid_request", {"method_not_allowed"}),
    408: ("invalid_request", {"body_late"}),
    409: (
        "conflict",
        {
            "state_conflict",
            "receiving_wallet_missing",
            "capacity_exhausted",
            "duplicate",
            "amount_not_refundable",
            "amount_not_reserved",
            "funds_insufficient",
            "gas_free_unavailable",
            "payment_pending",
        },
    ),
    413: ("invalid_request", {"body_too_large"}),
    415: ("invalid_request", {"media_type_unsupported"}),
    500: ("api_error", {"internal"}),
    503: ("api_error", {"chain_unavailable", "overloaded", "rate_unavailable"}),
}
NOT_YET = {
    "rate_unavailable": "prices are in USD unless the operator says otherwise: tests/checkouts/test_currencies.py",
    "role_insufficient": "roles belong to people, and people have no routes yet",
    "body_late": "only a real server waits for bodies: tests/faults/test_unfinished_requests.py",
    "amount_not_reserved": "asked of an exact amount: tests/checkouts/page/test_transactions.py",
    "funds_insufficient": "only a chain says what an account holds: tests/checkouts/gas_free/test_authorized.py",
    "payment_pending": "nothing is on its way in test mode: tests/checkouts/gas_free/test_authorized.py",
    "overloaded": "256 MB of bodies at once: tests/gateway/server/test_front.py",
}

# Codes that never leave by the API, and who reads them.
ELSEWHERE = {
    "transaction_refused": "the hosted page's own script",
    "logo_invalid": "the branding form and its command",
    "proof_required": "the dashboard's page of receiving wallets: no key sets them",
    "locked": "the login form",
    "not_ended": "the page that has payouts signed by a wallet of Solana, Tron or TON",
}


def _pay_twice(seller: ApiClient) -> Answer:
    checkout_id = seller.created()["id"]
    pay(checkout_id)
    return _choose(seller, "base", "USDC", checkout_id)


def _choose(client: ApiClient, chain: str, token: str, checkout_id: str | None = None) -> Answer:
    checkout_id = checkout_id or client.created()["id"]
    return client.post(f"/checkouts/{checkout_id}/options", {"chain": chain, "token": token})


def _last_amount_gone(_: ApiClient) -> Answer:
    client = client_of(mode=Mode.TEST)
    created = client.created()
    assert client.merchant is not None
    make_holders(client.merchant, range(1, 10_000), mode=Mode.TEST)
    return _choose(client, "tron", "USDT", created["id"])


def _open_link(client: ApiClient) -> Answer:
    link_id = client.post("/links", {"title": "Tea", "amount": "25"}).body["id"]
    return client.send("PATCH", f"/links/{link_id}/status", {"status": "open"})


def _revoked(seller: ApiClient) -> Answer:
    assert seller.merchant is not None
    key, secret = make_key(seller.merchant, Mode.LIVE)
    revoke_api_key(key, now=NOON)
    return ApiClient(key=secret).get("/checkouts")


def _with_key(*scopes: str, **powers: Any) -> Answer:
    return ApiClient(key=make_key(make_merchant(), Mode.TEST, *scopes, **powers)[1]).get("/checkouts")


def _bug(seller: ApiClient) -> Answer:
    return seller.get("/broken/bug")


PROVOKED: dict[str, Callable[[ApiClient], Answer]] = {
    "json_invalid": lambda client: client.post("/checkouts", b"{"),
    "parameter_missing": lambda client: client.post("/checkouts", {"currency": "USD"}),
    "parameter_invalid": lambda client: client.create(description=5),
    "parameter_too_long": lambda client: client.create(order_ref="x" * 129),
    "amount_not_string": lambda client: client.create(amount=25.0),
    "amount_invalid": lambda client: client.create(amount="25.001"),
    "amount_out_of_range": lambda client: client.create(amount="0.09"),
    # No setting allows it: it has three decimals.
    "currency_unsupported": lambda client: client.create(currency="KWD"),
    "metadata_too_large": lambda client: client.create(metadata={"a": "x" * 4096}),
    "expires_in_out_of_range": lambda client: client.create(expires_in=299),
    "url_invalid": lambda client: client.create(redirect_url="shop.example.test"),
    "url_forbidden": lambda client: client.create(webhook_url="https://10.0.0.1/"),
    "chain_unsupported": lambda client: _choose(client, "bitcoin", "USDC"),
    "token_unsupported": lambda client: _choose(client, "base", "USDT"),
    "address_invalid": lambda client: client.get("/reports/transactions", {"wallet": "0x12"}),
    "address_forbidden": lambda client: client.post("/payouts", PAYOUT | {"address": USDC_ON_BASE}),
    "amount_not_refundable": refund_too_much,
    "status_invalid": _open_link,
    "key_missing": lambda client: ApiClient().get("/checkouts"),
    "key_invalid": lambda client: ApiClient(key="sk_live_nobody").get("/checkouts"),
    "key_revoked": _revoked,
    "key_expired": lambda client: _with_key(expires_at=NOON),
    "scope_insufficient": lambda client: _with_key("events:read"),
    "network_forbidden": lambda client: _with_key(networks=("192.0.2.0/24",)),
    "resource_missing": lambda client: client.get("/checkouts/nobody"),
    "route_missing": lambda client: client.get("/nowhere"),
    "method_not_allowed": lambda client: client.send("PUT", "/checkouts", b"{}"),
    "state_conflict": _pay_twice,
    "gas_free_unavailable": authorize,
    "signature_invalid": signed_by_another,
    "capacity_exhausted": _last_amount_gone,
    "receiving_wallet_missing": lambda client: client_of(mode=Mode.LIVE).create(),
    "body_too_large": lambda client: client.post("/checkouts", b" " * (256 * 1024 + 1)),
    "media_type_unsupported": lambda client: client.send("POST", "/checkouts", b"{}", content_type="text/plain"),
    "duplicate": same_key,
    "chain_unavailable": MACHINES["post", VERIFY, 503],
    "internal": _bug,
}
STATUS_OF = {code: status for status, (_, codes) in TABLE.items() for code in codes}


def test_every_code_of_the_table_is_provoked_or_has_a_reason_not_to_be() -> None:
    assert set(PROVOKED) | set(NOT_YET) == set(STATUS_OF)
    assert not set(PROVOKED) & set(NOT_YET)
    assert all(NOT_YET.values())


@pytest.mark.urls("tests.contract.broken_urls")
@pytest.mark.parametrize("code", sorted(PROVOKED))
def test_each_code_comes_with_its_status_and_type(seller: ApiClient, code: str) -> None:
    answer = PROVOKED[code](seller)
    assert answer.code == code
    assert answer.status == STATUS_OF[code]
    assert answer.error["type"] == TABLE[answer.status][0]


# Every code that is given by name; parsing all modules would take seconds.
CODE_SET = re.compile(r"\bcode\s*[:=]")


def codes_in(source: str) -> Iterator[str]:
    """Codes that a module's errors carry: `code="..."`, class attributes, and what `refuse` is given."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            given = [k.value for k in node.keywords if k.arg == "code"]
            given += node.args[2:3] if name == "refuse" else []
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            is_code = any(isinstance(t, ast.Name) and t.id == "code" for t in targets)
            given = [node.value] if is_code and node.value is not None else []
        else:
            continue
        for value in given:
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield value.value


def api_sources() -> list[Path]:
    return [
        path
        for package in (
            "gateway/core",
            "accounts",
            "checkouts",
            "x402",
            "links",
            "payouts",
            "reports",
            "waitlist",
            "rates",
            "wallets",
            "webhooks",
        )
        for path in sorted((ROOT / package).rglob("*.py"))
        if "migrations" not in path.parts
    ]


def test_no_code_leaves_the_house_that_the_table_does_not_have() -> None:
    sources = [path.read_text() for path in api_sources()]
    used = {code for source in sources if "refuse(" in source or CODE_SET.search(source) for code in codes_in(source)}
    assert used - set(STATUS_OF) == set(ELSEWHERE)
    assert used >= set(PROVOKED)


def test_the_search_for_codes_sees_all_three_ways_of_giving_one() -> None:
    source = 'class E:\n    code: str = "a"\nrefuse("p", "m", "b")\nraise E(code="c")\n'
    assert sorted(codes_in(source)) == ["a", "b", "c"]
