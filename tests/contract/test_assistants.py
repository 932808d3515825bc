"""Each text of an answer that an assistant reads is marked as others' (clients/mcp), or it is one that others cannot write."""

import ast
import re
from collections.abc import Iterator, Mapping, Set
from typing import Any, Final

import pytest

from tests.tree import ROOT

pytestmark = pytest.mark.django_db

READING: Final = ROOT / "clients" / "mcp" / "src" / "florin_mcp" / "reading.py"
PATHS: Final = {
    "search_checkouts": "checkouts",
    "get_checkout": "checkouts/{checkout_id}",
    "explain_payment": "transactions/{tx_hash}",
    "list_inbox": "inbox",
    "report_summary": "reports/summary",
    "list_transactions": "reports/transactions",
    "list_events": "events",
    "list_endpoints": "webhook_endpoints",
    "list_deliveries": "webhook_deliveries",
    "list_x402_payments": "x402/payments",
    "list_payouts": "payouts",
    "chain_health": "chains",
}
"""What each tool reads. The two that read the guide ask no API."""

FACTS: Final = re.compile(
    r"id|.*_id|amount.*|.*_amount|usd_.*|fees?|price|price_currency|rate|margin|inflow|outflow|net|unconfirmed|units"
    r"|chain|unasked_chains|network|token|tokens|currency|crypto_currency|api_version|type|event_type"
    r"|tx_hash|txHash|refund_tx|address|.*_address|payTo|payerAddress|from|explorer_url|explorerTx|checkout_url"
    r"|checkout|x402_payment|replaces|replaced_by"
)
"""Ids, amounts, networks, hashes and addresses: none has a place for a sentence."""

OURS: Final = {
    # Rules and people of Florin wrote these, from no words of a payer.
    "explain_payment": {"explanation"},
    "list_inbox": {"explanation", "meaning", "title", "why_not"},
    "list_endpoints": {"disabled_reason"},
    "list_deliveries": {"error"},
    "chain_health": {"advice", "badge", "doing", "heading", "meaning", "name", "tokenContracts"},
    # A quote's sources, and dues by token.
    "search_checkouts": {"dues", "name"},
    "get_checkout": {"dues", "name"},
    "list_payouts": {"name"},
}
LEFT_OUT: Final = {"email", "customer_email", "claim_url"}
"""`florin_mcp.untrusted` leaves them out of every answer."""

Schema = Mapping[str, Any]


def texts_in(
    schema: Schema, document: Schema, marked: Set[str] = frozenset(), name: str = "", seen: tuple[str, ...] = ()
) -> Iterator[str]:
    """The names of fields that may have any text, without what is in or below a marked one."""
    if "$ref" in schema:
        target = schema["$ref"].rpartition("/")[2]
        if target not in seen:
            yield from texts_in(document["components"]["schemas"][target], document, marked, name, (*seen, target))
        return
    for part in (*schema.get("allOf", ()), *schema.get("oneOf", ()), *schema.get("anyOf", ())):
        yield from texts_in(part, document, marked, name, seen)
    for field, told in schema.get("properties", {}).items():
        if field not in marked:
            yield from texts_in(told, document, marked, field, seen)
    if "items" in schema:
        yield from texts_in(schema["items"], document, marked, name, seen)
    kinds = schema.get("type")
    is_text = "string" in (kinds if isinstance(kinds, list) else [kinds])
    is_fixed = "enum" in schema or "const" in schema or schema.get("format") in {"date", "date-time"}
    # A mapping has whatever names and values are in it.
    if (is_text and not is_fixed) or schema.get("additionalProperties") not in (None, False):
        yield name


def marks() -> dict[str, set[str]]:
    """The names of fields that each tool marks."""
    tree = ast.parse(READING.read_text())
    sets = {"_NOTHING": set[str]()}
    found: dict[str, set[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Call):
            text = ast.unparse(node.value)
            if text.startswith("frozenset({"):
                sets[ast.unparse(node.target)] = set(ast.literal_eval(text.removeprefix("frozenset(")[:-1]))
        if isinstance(node, ast.FunctionDef):
            calls = (each for each in ast.walk(node) if isinstance(each, ast.Call))
            named = [ast.unparse(each.args[1]) for each in calls if ast.unparse(each.func) == "marked"]
            found[node.name] = set().union(*(sets[name] for name in named))
    return found


def test_every_tool_that_asks_the_api_is_looked_at() -> None:
    assert set(marks()) - {"search_docs", "read_doc"} == set(PATHS)


@pytest.mark.parametrize("tool", PATHS)
def test_each_text_that_an_assistant_reads_is_marked_or_not_for_others_to_write(
    document: dict[str, Any], tool: str
) -> None:
    answer = document["paths"][f"/api/v1/{PATHS[tool]}"]["get"]["responses"]["200"]
    texts = set(texts_in(answer["content"]["application/json"]["schema"], document, marks()[tool])) - LEFT_OUT
    # Bodies of events are left out, whatever is in them.
    texts -= {"data"} if tool == "list_events" else set()
    unmarked = {name for name in texts if not FACTS.fullmatch(name)}
    assert unmarked == OURS.get(tool, set())


def test_the_rule_sees_a_text_in_a_list_and_in_a_mapping() -> None:
    told: Schema = {
        "properties": {
            "labels": {"type": "array", "items": {"type": ["string", "null"]}},
            "metadata": {"type": "object", "additionalProperties": {}},
            "status": {"type": "string", "enum": ["open"]},
            "at": {"type": "string", "format": "date-time"},
            "in": {"$ref": "#/components/schemas/In"},
        }
    }
    document = {
        "components": {"schemas": {"In": {"properties": {"order_ref": {"type": "string"}, "n": {"type": "integer"}}}}}
    }
    assert set(texts_in(told, document)) == {"labels", "metadata", "order_ref"}
    assert set(texts_in(told, document, {"labels", "in"})) == {"metadata"}
