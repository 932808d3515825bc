"""The guide about custody says only what a test shows, row by row and sentence by sentence."""

import re
from typing import Final

import pytest

from accounts.audit.actors import Actor
from accounts.keys.scopes import PRESETS
from accounts.states import Mode
from gateway.core.api.scopes import Scope
from links.editing.service import change_link
from links.models import PaymentLink
from links.serializers import NewLink
from mails.models import OutgoingMail
from tests.contract.client import client_of
from tests.dashboard.people import make_member
from tests.factories import NOON, make_merchant
from tests.routes import api_routes
from tests.tree import ROOT
from wallets.networks import chains

GUIDE: Final = ROOT / "docs/guide/custody.md"

# A script writes what each preset's thief can do, from the scopes that open each route.
THIEVES: Final = [
    "contract/test_scopes.py::test_an_operation_opens_to_its_own_scope_alone",
    "contract/test_scopes.py::test_each_preset_has_these_scopes_and_no_others",
    "contract/test_scopes.py::test_custody_says_of_each_preset_what_its_thief_can",
]

# The first cell of each row of the guide's tables, and the tests that show the others.
SHOWN: Final[dict[str, list[str]]] = {
    "Base, Polygon, Arbitrum One, OP Mainnet, BNB Smart Chain": [
        "wallets/forwarders/test_contracts_fuzz.py::test_no_sequence_of_calls_moves_a_deposit_anywhere_but_its_destination",
        "wallets/forwarders/test_contracts.py::test_a_flush_by_a_front_runner_pays_the_destination_all_the_same",
        "wallets/chains/test_optional_chains.py::test_a_checkout_is_paid_and_stays_readable_after_the_node_was_taken_away",
    ],
    "Solana, TON, Tron, Ethereum": [
        "wallets/receiving/test_inspection.py::test_accounts_on_solana",
        "wallets/receiving/test_inspection.py::test_accounts_on_ton",
    ],
    "Ethereum, signed payments of machines": [
        "wallets/forwarders/test_contracts.py::test_naming_another_destination_names_another_forwarder"
    ],
    "a live API key": [
        "contract/test_scopes.py::test_an_operation_opens_to_its_own_scope_alone",
        "contract/test_custody.py::test_a_live_key_reaches_no_wallet_key_or_person",
        "contract/test_custody.py::test_owners_hear_when_a_links_addresses_change",
        "webhooks/listed/test_service.py::test_owners_hear_once_an_hour_what_a_key_did_and_each_time_what_a_person_did",
        "webhooks/listed/test_service.py::test_owners_hear_of_each_change_that_a_key_makes_but_a_name",
        "contract/test_custody.py::test_a_live_keys_row_names_what_each_scope_can_change",
        "payouts/test_api.py::test_a_key_asks_and_no_scope_approves_or_signs",
        "payouts/test_service.py::test_a_key_changes_no_address_that_a_person_gave",
        "webhooks/listed/test_api.py::test_the_default_endpoint_is_shown_and_changed_by_people_alone",
    ],
    "an assistant with [`florin-mcp`](agents.md), misled by text in an order": [
        "clients/test_mcp_tools.py::test_tools_call_only_what_reads_and_five_operations_that_move_no_money",
        "clients/test_mcp.py::test_a_request_is_carried_out_once_and_only_if_a_person_agrees",
        "clients/test_mcp.py::test_without_write_no_tool_writes_and_none_can_be_called",
    ],
    "a team member's login": [
        "accounts/team/test_permissions.py::test_each_role_may_do_what_its_acts_allow_and_nothing_else",
        "wallets/dashboard/test_second_factor.py::test_an_owner_without_a_second_factor_sets_one_up_before_a_change",
        "wallets/dashboard/test_second_factor.py::test_a_second_factor_counts_while_it_is_fresh",
        "wallets/dashboard/test_second_factor.py::test_a_merchant_that_was_never_paid_starts_without_a_second_factor",
        "wallets/dashboard/test_second_factor.py::test_a_developers_own_chains_ask_for_none",
        "wallets/receiving/test_changes.py::test_another_wallet_waits_and_the_owners_are_told_twice",
        "accounts/keys/test_views.py::test_audit_entries_cannot_be_changed",
    ],
    "the server": ["wallets/forwarders/test_contracts.py::test_nobody_but_the_factory_makes_a_forwarder_send"],
    "one RPC provider": [
        "wallets/reconciliation/test_confirmation.py::test_depth_alone_does_not_confirm_a_large_amount",
        "checkouts/lifecycle/test_moves_large.py::test_parts_of_a_large_sum_wait_for_a_second_node",
        "x402/byhash/test_service_large.py::test_what_one_node_says_of_many_payers_is_no_large_sum",
        "x402/exact/test_large.py::test_nothing_is_sent_until_a_second_node_knows_what_was_sold",
    ],
    "the [bridge of TON Connect](wallet-apps.md#ton-connect-over-a-relay) that you may name": [
        "browser/test_ton_relay.py::test_what_a_lying_bridge_sends_is_passed_over"
    ],
    "a buyer": ["checkouts/rescue/test_service_facts.py::test_a_shared_wallet_tells_nothing_about_other_buyers"],
    **{str(preset.label): THIEVES for preset in PRESETS},
}


# How each sentence outside of the tables begins, and the tests that show it; none for advice, and for what Florin does not do.
LARGE: Final = "checkouts/lifecycle/test_moves_large.py::"
MACHINES: Final = "x402/byhash/test_service_large.py::"
FACTOR: Final = "wallets/dashboard/test_second_factor.py::"
SAID: Final = {
    "After this page": [],
    "Florin holds no key": [
        "wallets/forwarders/test_contracts_fuzz.py::test_no_sequence_of_calls_moves_a_deposit_anywhere_but_its_destination",
        "wallets/forwarders/test_contracts.py::test_calling_a_forwarder_with_anything_else_moves_nothing",
    ],
    "It may hold two keys": [
        "settlements/gas/test_nonces.py::test_without_a_key_nothing_is_sent",
        "x402/exact/solana/test_rail.py::test_both_versions_of_solana_are_offered_with_the_account_that_pays_the_network",
    ],
    "Both pay network fees": [
        "x402/exact/solana/test_transfers.py::test_our_account_appears_in_no_instruction",
        "wallets/forwarders/test_contracts.py::test_a_flush_by_a_front_runner_pays_the_destination_all_the_same",
    ],
    "Fill them": [],
    "The second factor": [],
    "An owner uses a passkey": [f"{FACTOR}test_a_machines_wallet_is_changed_by_the_same_rule"],
    "The last use may be": [f"{FACTOR}test_a_second_factor_counts_while_it_is_fresh"],
    "An owner who has none": [f"{FACTOR}test_an_owner_without_a_second_factor_sets_one_up_before_a_change"],
    "Two cases need none": [],
    "The first is the very first": [f"{FACTOR}test_a_merchant_that_was_never_paid_starts_without_a_second_factor"],
    "The second is a developer": [f"{FACTOR}test_a_developers_own_chains_ask_for_none"],
    "The first wallet is mailed": [
        "wallets/receiving/test_changes.py::test_the_first_wallet_of_a_chain_is_there_at_once_and_the_owners_are_told"
    ],
    "10,000 USD is the default": [
        "contract/test_custody.py::test_what_is_large_by_default",
        "wallets/reconciliation/test_confirmation.py::test_with_one_node_only_finality_alone_confirms",
    ],
    "The rule counts all": [f"{LARGE}test_parts_on_several_chains_are_one_sum"],
    "A part below the limit": [
        f"{LARGE}test_a_short_sum_that_waits_for_a_second_node_stays_underpaid_and_does_not_expire"
    ],
    "Once the sum is large, no part": [f"{LARGE}test_parts_of_a_large_sum_wait_for_a_second_node"],
    "What a person accepts late": [
        "checkouts/inbox/test_service.py::test_a_large_sum_that_was_accepted_waits_for_no_second_node"
    ],
    "The [rule for certain money]": [
        "checkouts/inbox/test_rule.py::test_late_parts_of_a_large_sum_wait_for_a_second_node"
    ],
    "Of payments of machines": [
        f"{MACHINES}test_signed_payments_of_every_chain_count_in_a_sellers_sum",
        f"{MACHINES}test_signed_payments_and_reversed_ones_count",
    ],
    "A payment by transaction hash with which that sum is large": [
        f"{MACHINES}test_what_one_node_says_of_many_payers_is_no_large_sum"
    ],
    "What two nodes know does not count again": [
        f"{MACHINES}test_what_two_nodes_know_does_not_count_again",
        f"{MACHINES}test_from_half_the_sum_a_second_node_is_asked_before_anybody_has_to_wait",
    ],
    "If the sum of one payer is large": [f"{MACHINES}test_a_large_sum_of_one_payer_waits_for_a_second_node"],
    "Prices below 1 USD": [f"{MACHINES}test_cents_wait_once_their_sellers_sum_is_large"],
    "A signed payment of the x402 standard": [
        "x402/exact/test_facilitator_settle.py::test_a_large_signed_payment_waits_for_nobody"
    ],
    "Once the sum is large, no further one": [
        "x402/exact/test_large.py::test_nothing_is_sent_until_a_second_node_knows_what_was_sold"
    ],
    "For expensive goods": [],
    "Payouts": [],
    "Florin has no key of the wallet": ["payouts/test_api.py::test_a_key_asks_and_no_scope_approves_or_signs"],
    "What a wallet signs for our gas account": [
        "payouts/test_authorizations.py::test_a_nonce_pays_a_payout_once",
        "payouts/test_authorizations.py::test_what_is_signed_is_all_that_the_wallet_shows",
    ],
    "A hostile server can lie": [],
    "Payments without a network fee": [],
    "What a buyer signs moves": [
        "checkouts/gas_free/test_authorized.py::test_a_buyer_without_a_coin_completes_a_checkout",
        "checkouts/gas_free/test_authorized.py::test_nothing_is_sent_once_something_else_is_due",
        "checkouts/gas_free/test_co_signed.py::test_a_signature_of_anything_else_is_worth_nothing",
    ],
    "A hostile server could": [],
    "The gas key still": ["checkouts/gas_free/test_co_signed.py::test_a_buyer_without_sol_completes_a_checkout"],
    "See [payments without": [],
    "Signed receipts": [],
    "Their key signs": [],
    "It is derived from": ["gateway/core/test_signing.py::test_no_private_key_is_stored_or_published"],
    "A thief of it can lie": [
        "checkouts/lifecycle/test_signed_receipts.py::test_the_status_tells_a_forged_receipt_with_a_genuine_id_by_its_bytes"
    ],
    "The server": [],
    "Anyone who controls it": [],
    "Compare the receiving wallets": [],
    "The keys of your receiving wallets": [],
    "Keep them away": [],
    "`ENCRYPTION_KEYS` and `SECRET_KEY`": [],
    "The first sign receipts": [
        "payouts/test_claims.py::test_the_link_outlives_a_rotation_of_keys",
        "webhooks/endpoints/test_service.py::test_a_secret_is_made_once_and_rests_encrypted",
        "accounts/login/test_views.py::test_the_key_is_drawn_on_the_page_and_rests_encrypted",
    ],
    "The second makes links": ["deploy/test_rotation.py::test_sessions_and_links_of_the_old_secret_key_stay_valid"],
    "Webhook handlers": [],
    "Verify each signature": [],
    "No outside audit": [],
    "It does not screen": [],
    "It does not reverse": [],
    "Only the recipient": [],
    "Escrow holds back sweeps": [
        "settlements/sweeps/test_escrow.py::test_held_money_stays_until_it_is_released_and_arrives_by_the_next_sweep"
    ],
    "It is a promise": [
        "checkouts/lifecycle/test_escrow.py::test_what_a_stranger_flushed_is_released_for_everybody",
        "checkouts/lifecycle/test_escrow.py::test_dust_that_a_stranger_flushes_before_the_buyer_pays_ends_no_hold",
    ],
    "See [escrow]": [],
    "Report a vulnerability": [],
    "[Go live]": [],
}


def sentences() -> list[str]:
    """The guide's sentences that are in no table and no heading, in their order."""
    text = re.sub(r"^(?:#|\|).*\n", "\n", GUIDE.read_text(), flags=re.MULTILINE)
    parts = [" ".join(part.split()) for part in re.split(r"\n\n|\n- ", text)]
    return [one.strip("-* ") for part in parts for one in re.split(r"(?<=[a-z`)]\.)\*{0,2} (?=[A-Z1`])", part) if one]


def test_each_sentence_of_the_guide_has_its_tests_or_promises_nothing() -> None:
    assert [next((key for key in SAID if one.startswith(key)), one) for one in sentences()] == list(SAID)


def test_what_is_large_by_default() -> None:
    assert {spec.large_units for spec in chains().values()} == {10_000 * 10**6}


def test_each_row_of_the_guide_has_a_test_and_each_test_is_there() -> None:
    rows = re.findall(r"^\| ([^|]+?) \|", GUIDE.read_text(), re.MULTILINE)
    assert [row for row in rows if row not in {"chain", "who has", "preset"}] == list(SHOWN)
    for place in {place for places in [*SHOWN.values(), *SAID.values()] for place in places}:
        path, _, name = place.partition("::")
        assert f"def {name}(" in (ROOT / "tests" / path).read_text(), place


def test_a_live_key_reaches_no_wallet_key_or_person() -> None:
    named = {route.split("/")[0] for route in api_routes()} - {"openapi.json"}
    assert named == {
        "chains",
        "checkouts",
        # Only read: what prices may be in.
        "currencies",
        # Only read.
        "disruptions",
        "events",
        # Only read: people decide.
        "inbox",
        # Of the key itself, and only to read.
        "key",
        "link_templates",
        "links",
        # Asked for: people approve and sign.
        "payouts",
        "refunds",
        "reports",
        # What sells to the merchant's wallets: no address can be chosen there.
        "terminals",
        # The clock of test checkouts, with a test key alone.
        "test",
        # Only read.
        "transactions",
        "waitlist",
        "wallets",
        # Only read.
        "webhook_deliveries",
        # The added ones, of which owners get a mail.
        "webhook_endpoints",
        "x402",
    }


def test_a_live_keys_row_names_what_each_scope_can_change() -> None:
    row = next(line for line in GUIDE.read_text().splitlines() if line.startswith("| a live API key |"))
    words = {
        Scope.CHECKOUTS_WRITE: "create and cancel checkouts, and choose their webhook and redirect",
        Scope.ESCROW_RELEASE: "release escrow",
        Scope.LINKS_WRITE: "create links, and change where an existing link reports",
        Scope.PAYOUTS_REQUEST: "ask for refunds and payouts, and change where others go until they are approved",
        Scope.TERMINALS_WRITE: "add and revoke terminals, and pair a device of its own",
        Scope.WALLETS_WRITE: "add and remove watched wallets",
        Scope.WEBHOOKS_WRITE: "add, change and delete webhook endpoints",
        Scope.X402_VERIFY: "verify and settle machines' payments",
        Scope.X402_SETTLE: "verify and settle machines' payments",
    }
    assert set(words) == {scope for scope in Scope if not scope.endswith(":read")}
    assert [said for said in words.values() if said not in row] == []


@pytest.mark.parametrize("field", ["webhook_url", "redirect_url"])
@pytest.mark.django_db
def test_owners_hear_when_a_links_addresses_change(field: str) -> None:
    merchant = make_merchant()
    owner, seller = make_member(merchant), client_of(merchant, Mode.LIVE)
    link = seller.post("/links", {"title": "Tea", "amount": "5"}).body
    path = f"/links/{link['id']}"
    seller.send("PATCH", path, {"title": "Coffee"})
    assert not OutgoingMail.objects.exists()
    changed = {field: "https://thief.example/x"}
    assert seller.send("PATCH", path, changed).body[field] == changed[field]
    seller.send("PATCH", path, changed)
    [mail] = OutgoingMail.objects.filter(recipient=owner.email)
    assert "https://thief.example/x" in mail.text
    assert "API key" in mail.text


@pytest.mark.django_db
def test_a_mail_about_ones_change_keeps_back_no_mail_about_anothers() -> None:
    merchant = make_merchant()
    person = Actor(make_member(merchant))
    link = client_of(merchant, Mode.LIVE).post("/links", {"title": "Tea", "amount": "5"}).body
    held = PaymentLink.objects.get(public_id=link["id"])
    keys = [Actor(label=f"API key key_{number}") for number in range(2)]
    for minute, actor in enumerate([person, keys[0], keys[1], person]):
        wanted = NewLink.read({"title": "Tea", "amount": "5", "webhook_url": f"https://shop.example/{minute}"})
        change_link(held, wanted, now=NOON.replace(minute=minute), by=actor)
    told = [re.findall(r"now https://shop.example/(\d)", mail.text) for mail in OutgoingMail.objects.order_by("pk")]
    assert told == [["0"], ["1"], ["2"], ["3"]]


@pytest.mark.django_db
def test_a_key_neither_floods_owners_with_mail_nor_writes_it() -> None:
    merchant = make_merchant()
    make_member(merchant)
    seller = client_of(merchant, Mode.LIVE)
    link = seller.post("/links", {"title": "Pay now " * 15, "amount": "5"}).body
    held = PaymentLink.objects.get(public_id=link["id"])
    thief = Actor(label="API key key_1")
    for hour, minute, number in ((9, 0, 1), (9, 30, 2), (10, 0, 3)):
        url = f"https://thief.example/{number}"
        wanted = NewLink.read({"title": held.title, "amount": "5", "webhook_url": url})
        change_link(held, wanted, now=NOON.replace(hour=hour, minute=minute), by=thief)
    first, second = OutgoingMail.objects.order_by("pk")
    assert ("/1\n" in first.text, "/3\n" in second.text) == (True, True)
    assert ("Pay now " * 15)[:60] in first.text.splitlines()
