"""The export: everything of one merchant, nothing of another, and no secret."""

import csv
import io
from zipfile import ZipFile

import pytest

from accounts.audit.service import record
from accounts.models import AuditEntry, Merchant
from accounts.states import Mode, Role
from tests.dashboard.inboxes import make_report
from tests.dashboard.people import Desk, make_desk
from tests.factories import NOON, make_checkout, make_key, make_transfer, make_wallet
from tests.payouts.factories import BUYER, make_paid, make_payout, refund_of
from tests.wallets.days import make_movement
from tests.wallets.watched_wallets import watch
from tests.webhooks.factories import make_endpoint
from webhooks.listed.service import add_endpoint
from webhooks.models import SigningSecret

pytestmark = pytest.mark.django_db

FILES = {
    "merchant",
    "team",
    "api_keys",
    "fees",
    "audit_log",
    "receiving_wallets",
    "receiving_wallet_changes",
    "receiving_wallet_proofs",
    "transfers",
    "watched_wallets",
    "watched_wallet_movements",
    "checkouts",
    "payments",
    "inbox",
    "inbox_decisions",
    "acceptances",
    "quotes",
    "plugin_connections",
    "plugin_invoice_options",
    "buyer_reports",
    "payment_links",
    "link_templates",
    "subscriptions",
    "webhook_endpoints",
    "webhook_deliveries",
    "terminals",
    "terminal_sales",
    "notice_choices",
    "notice_devices",
    "notice_chats",
    "fiat_waitlist",
    "settlements",
    "escrow_holds",
    "x402_payments",
    "payouts",
    "payout_sources",
}


def taken(desk: Desk) -> dict[str, list[list[str]]]:
    """The files of an export by name, each as rows."""
    answer = desk.post("dashboard_download_data")
    assert answer["Content-Type"] == "application/zip"
    archive = ZipFile(io.BytesIO(b"".join(answer.streaming_content)))
    assert archive.testzip() is None
    return {name.removesuffix(".csv"): rows_of(archive, name) for name in archive.namelist()}


def rows_of(archive: ZipFile, name: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(archive.read(name).decode("utf-8-sig"))))


def test_an_owner_takes_everything_of_both_modes_along(merchant: Merchant, owner: Desk) -> None:
    make_wallet(merchant)
    make_movement(watch(merchant, tags=["eu"]))
    live, test = make_checkout(merchant), make_checkout(merchant, mode=Mode.TEST)
    make_transfer(live)
    report = make_report(live)
    files = taken(owner)
    assert set(files) == FILES
    assert [row[0] for row in files["checkouts"][1:]] == [live.public_id, test.public_id]
    assert len(files["transfers"]) == len(files["receiving_wallets"]) == 2
    assert files["buyer_reports"][1][2] == report.tx_hash
    assert files["watched_wallets"][1][5] == '["eu"]'
    assert len(files["watched_wallet_movements"]) == 2
    assert files["team"][1][0] == owner.user.email
    entry = AuditEntry.objects.get(action="merchant.data_exported")
    assert (entry.actor, entry.address) == (owner.user, "127.0.0.1")


def test_the_export_names_what_a_refund_sends_back(merchant: Merchant, owner: Desk) -> None:
    checkout = make_paid(merchant)
    payout, plain = refund_of(checkout, 5_000_000, address=BUYER).payout, make_payout(merchant)
    files = taken(owner)
    assert {row[0] for row in files["payouts"][1:]} == {payout.public_id, plain.public_id}
    header, *rows = files["payout_sources"]
    sent_back = dict(zip(header, *rows, strict=True))
    transfer = checkout.payments.get().transfer
    assert sent_back == {
        "payout_public_id": payout.public_id,
        "transfer_public_id": transfer.public_id,
        "units": "5000000",
    }


def test_no_file_has_an_id_that_counts_rows(merchant: Merchant, owner: Desk) -> None:
    transfer = make_transfer(make_checkout(merchant))
    make_movement(watch(merchant))
    files = taken(owner)
    for name, [header, *_] in files.items():
        assert not {"id", "transfer_id", "item_id"} & set(header), name
    assert files["transfers"][1][0] == transfer.public_id


def test_another_merchants_rows_are_not_in_it(owner: Desk) -> None:
    other = make_desk()
    make_wallet(other.merchant)
    make_movement(watch(other.merchant))
    make_key(other.merchant)
    checkout = make_checkout(other.merchant)
    make_transfer(checkout)
    make_report(checkout)
    rows = {name: len(found) - 1 for name, found in taken(owner).items()}
    kept = {name: count for name, count in rows.items() if count}
    assert kept == {"merchant": 1, "team": 1, "audit_log": 1}


def test_a_listed_webhook_endpoint_is_taken_along_with_what_it_chose(merchant: Merchant, owner: Desk) -> None:
    make_endpoint(merchant)
    values = {"url": "https://erp.example/", "name": "Bookkeeping", "events": ["inbox.opened"], "is_enabled": True}
    endpoint, _ = add_endpoint(merchant, mode=Mode.LIVE, values=values, now=NOON)
    header, default, listed = taken(owner)["webhook_endpoints"]
    names = ("public_id", "url", "name", "events", "created_by")
    rows = [dict(zip(header, row, strict=True)) for row in (default, listed)]
    assert [rows[0][name] for name in names] == ["", "http://127.0.0.1:9/", "", "", ""]
    assert [rows[1][name] for name in names] == [
        endpoint.public_id,
        endpoint.url,
        "Bookkeeping",
        '["inbox.opened"]',
        "system",
    ]


def test_no_secret_is_in_it(merchant: Merchant, owner: Desk) -> None:
    key, secret = make_key(merchant)
    checkout = make_checkout(merchant)
    values = {"url": "https://erp.example/", "name": "", "events": None, "is_enabled": True}
    endpoint, own = add_endpoint(merchant, mode=Mode.LIVE, values=values, now=NOON)
    sealed = bytes(SigningSecret.objects.get(endpoint=endpoint).sealed)
    text = str(taken(owner))
    for hidden in (secret, bytes(key.digest).hex(), checkout.deposit_nonce.hex(), owner.user.password):
        assert hidden not in text
    for hidden in (own, own.removeprefix("whsec_"), sealed.hex(), sealed.decode(errors="replace")):
        assert hidden not in text


def test_what_would_run_in_a_spreadsheet_does_not(merchant: Merchant, owner: Desk) -> None:
    make_checkout(merchant, description="=HYPERLINK(1)")
    header, row = taken(owner)["checkouts"]
    assert dict(zip(header, row, strict=True))["description"] == "'=HYPERLINK(1)"


def test_what_is_nested_is_json(merchant: Merchant, owner: Desk) -> None:
    record(merchant, action="a.b", before={"name": "ä", "n": [None]}, now=NOON)
    header, row, _ = taken(owner)["audit_log"]
    assert dict(zip(header, row, strict=True))["before"] == '{"n": [null], "name": "ä"}'


@pytest.mark.parametrize("role", [Role.ADMIN, Role.VIEWER])
def test_others_read_what_it_holds_and_whom_to_ask(merchant: Merchant, role: Role) -> None:
    desk = make_desk(merchant, role)
    assert "An owner can download it" in desk.get("dashboard_data_export").text
