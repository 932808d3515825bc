"""Sentences of the documentation that once misled, each bound to what it is about."""

import json
import os
import re
import subprocess
import sys
from base64 import b64decode, b64encode
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from accounts.fees.service import charges_fees
from accounts.states import TIER_RATES, FeeTier
from demo.nodes.base import LocalChain
from gateway.docs.pages import pages
from gateway.environment import parse_choice
from tests.factories import make_merchant
from tests.tree import ROOT

RECEIVERS = (
    *("README.md", "docs/guide/webhooks.md", "docs/guide/checkouts.md", "docs/guide/quickstart.md"),
    *("docs/guide/from-btcpay.md", "docs/guide/from-coinbase-commerce.md", "docs/guide/agents.md"),
    *(f"clients/api-{language}/README.md" for language in ("python", "typescript", "php")),
)
"""The pages that tell how to receive webhooks."""


def text_of(page: str) -> str:
    return (ROOT / page).read_text()


def test_both_headers_of_x402_are_base64_with_an_example_to_paste() -> None:
    text = text_of("docs/guide/x402.md")
    header = re.findall(r"^X-PAYMENT-REQUIRED: (\S+)$", text, re.MULTILINE)
    sent = re.findall(r"^printf '%s' '(\{.+\})' \| base64 ", text, re.MULTILINE)
    assert header == [b64encode(json.encode()).decode() for json in sent]
    [received] = re.findall(r"^printf '%s' '(\w+=*)' \| base64 -d$", text, re.MULTILINE)
    assert set(json.loads(b64decode(received))) < set(json.loads(sent[0]))
    assert "**Both values are the JSON in Base64**" in text
    assert {name for name in ("X-PAYMENT-REQUIRED", "X-PAYMENT") if f"\n| `{name}`, with the" in text} == {
        "X-PAYMENT-REQUIRED",
        "X-PAYMENT",
    }


def test_who_goes_live_is_told_to_check_the_mode_because_one_secret_signs_both() -> None:
    assert "- **Check `livemode`** of each event: one secret signs both modes." in text_of("docs/guide/going-live.md")


@pytest.mark.parametrize("page", RECEIVERS)
def test_each_page_about_receivers_says_to_check_the_mode(page: str) -> None:
    assert re.search(r"[Cc]heck `livemode`|its `livemode`|OtherModeError|event\.livemode === livemode", text_of(page))


def test_every_page_with_a_receiver_is_among_them() -> None:
    found = [path for path in ROOT.glob("docs/guide/*.md") if re.search("X-Service-Signature", path.read_text())]
    # A setting has the header's name.
    assert {path.name for path in found} - {"configuration.md"} <= {Path(page).name for page in RECEIVERS}


@pytest.mark.parametrize("page", ["docs/guide/checkouts.md", "docs/guide/idempotency.md"])
def test_a_reader_learns_that_a_repeat_may_bring_an_expired_checkout_and_what_to_do_then(page: str) -> None:
    text = " ".join(text_of(page).split())
    assert "whatever its status" in text
    assert re.search(r"expired one cannot be paid.{,120}new `order_ref`", text)


@pytest.mark.django_db
def test_what_is_charged_by_default_is_the_same_on_every_page(settings: Any) -> None:
    settings.CHARGE_FEES = parse_choice("CHARGE_FEES", "")
    make_merchant()
    assert not charges_fees()
    told = {
        "README.md": "It takes no fee: you pay for your server and for gas.",
        "docs/guide/fees.md": "not charged on a new installation, charged on one that had merchants before",
        "docs/guide/configuration.md": "| `CHARGE_FEES` | `false`; `true` if there were merchants before",
        "docs/guide/from-btcpay.md": "only if its operator turns them on",
        "docs/guide/from-coinbase-commerce.md": "your own installation charges none",
        "docs/guide/settings.md": "This page is there only where the operator [charges fees](fees.md).",
        "docs/guide/operator.md": "where you [charge fees](fees.md), set the plan (Starter until then)",
    }
    assert {page: words for page, words in told.items() if words not in text_of(page)} == {}
    rates = {tier: f"{rate * 100:f}".rstrip("0").rstrip(".") for tier, rate in TIER_RATES.items()}
    for tier, rate in rates.items():
        assert re.search(
            rf"^\| {tier.label}[^|]*\| {re.escape(rate)} % \|$", text_of("docs/guide/fees.md"), re.MULTILINE
        )
    assert f"(Starter at {rates[FeeTier.STARTER]} % unless the operator sets another)" in text_of(
        "docs/guide/settings.md"
    )


def test_the_first_page_and_the_quickstart_name_different_orders() -> None:
    named = [set(re.findall(r"order-\d+", text_of(page))) for page in ("README.md", "docs/guide/quickstart.md")]
    assert all(named)
    assert not named[0] & named[1]


def test_the_demos_page_names_each_field_of_a_chain() -> None:
    table = text_of("docs/guide/demo.md").partition("| field | meaning |")[2].partition("\n\n")[0]
    cells = re.findall(r"^\| (`[^|]+) \|", table, re.MULTILINE)
    named = [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]
    assert sorted(named) == sorted(field.name for field in fields(LocalChain) if field.name != "name")


def test_the_readmes_way_to_name_a_python_is_the_scripts() -> None:
    assert re.search(r"`PYTHON=\S+ script/demo`", text_of("README.md"))
    found = subprocess.run(
        ["sh", "-c", ". script/_setup.sh; find_python"],
        cwd=ROOT,
        env=os.environ | {"PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == sys.executable


def test_decision_and_guide_say_that_transfers_of_one_transaction_are_never_added_up() -> None:
    guide = " ".join(text_of("docs/guide/chains.md").split())
    [decision] = (page for slug, page in pages().items() if slug.startswith("decisions/0004-"))
    said = " ".join(decision.read().split())
    assert (
        "Each transfer is a payment of its own. Florin never adds the transfers of a transaction up and nets nothing"
        in guide
    )
    assert "transfers are never added up or netted" in said
    for text in (guide, said):
        assert re.search(r"each instruction|a row for each instruction", text)
        assert "sum" in text
    assert "../adr/0004-" in text_of("docs/guide/chains.md")
    assert "chains.md#several-payments-in-one-transaction" in said
