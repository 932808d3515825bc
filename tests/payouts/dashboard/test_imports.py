"""Importing payouts: all rows of a file, or none."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from payouts.dashboard.imports import HEADER, MOST_ROWS
from payouts.models import Payout
from payouts.states import AddressBy, PayoutKind, PayoutStatus
from tests.dashboard.people import Desk
from tests.factories import USDC_ON_BASE
from tests.payouts.factories import BUYER, OTHER_BUYER

pytestmark = pytest.mark.django_db

FIRST = ",".join(HEADER)
ADA = f"{BUYER},125.50,USDC,base,pay-ada"
BOB = f"{OTHER_BUYER},7,USDT,polygon,"


def send(desk: Desk, *rows: str, header: str = FIRST, data: bytes | None = None) -> Any:
    text = "\n".join([header, *rows]).encode() if data is None else data
    return desk.post("dashboard_import_payouts", {"file": SimpleUploadedFile("payroll.csv", text)})


def test_each_row_becomes_a_payout_that_waits_for_approval(owner: Desk) -> None:
    assert owner.get("dashboard_import_payouts").status_code == 200
    answer = send(owner, ADA, "", BOB, data=None)
    assert answer["Location"] == owner.url("dashboard_payouts")
    ada, bob = Payout.objects.order_by("pk")
    assert (ada.address, ada.units, ada.token, ada.chain) == (BUYER, 125_500_000, "USDC", "base")
    assert (ada.reference, bob.reference) == ("pay-ada", "")
    for payout in (ada, bob):
        assert (payout.kind, payout.status) == (PayoutKind.PAYOUT, PayoutStatus.REQUESTED)
        assert (payout.address_by, payout.requested_by) == (AddressBy.PERSON, owner.user)


def test_a_spreadsheets_file_is_read(owner: Desk) -> None:
    data = f"\ufeff{FIRST}\r\n{ADA}\r\n".encode()
    assert send(owner, data=data).status_code == 302
    assert Payout.objects.count() == 1


def test_a_file_that_is_imported_twice_pays_once(owner: Desk) -> None:
    for _ in range(2):
        assert send(owner, ADA).status_code == 302
    assert Payout.objects.count() == 1
    assert "1 were there already" in owner.get("dashboard_payouts").text


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (f"{BUYER[:-1]},1,USDC,base,", "40 hexadecimal digits"),
        (f"{USDC_ON_BASE},1,USDC,base,", "token contract"),
        (",1,USDC,base,", "address is missing"),
        (f"{BUYER},1.0000001,USDC,base,", "6 decimals"),
        (f"{BUYER},-1,USDC,base,", "written like"),
        (f"{BUYER},0,USDC,base,", "amount"),
        (f"{BUYER},1e9,USDC,base,", "written like"),
        (f'{BUYER},"1,000",USDC,base,', "written like"),
        (f"{BUYER},1,USDC,bitcoin,", "no network"),
        (f"{BUYER},1,DOGE,base,", "not paid on base"),
        (f"{BUYER},1,USDC,base,{'x' * 129}", "longer than"),
        (ADA, "in the file twice"),
        ("only this", "no network"),
    ],
)
def test_one_wrong_row_and_nothing_is_written(row: str, words: str, owner: Desk) -> None:
    answer = send(owner, ADA, BOB, row)
    assert answer.status_code == 422
    [problem] = answer.context["problems"]
    assert problem.line == 4
    assert words in problem.words
    assert not Payout.objects.exists()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"\xff\xfe", "not UTF-8"),
        (b"a,b\n1,2", "The first line must be"),
        (FIRST.encode(), "no payouts"),
        (f"{FIRST}\n\0".encode(), "no CSV file"),
        (f'{FIRST}\n"open'.encode(), "no CSV file"),
        (f"{FIRST}\n{ADA}".encode() + b" " * 200_001, "too large"),
        ("\n".join([FIRST, *[BOB] * (MOST_ROWS + 1)]).encode(), "at most 500"),
    ],
)
def test_what_is_no_list_of_payouts_is_refused(data: bytes, words: str, owner: Desk) -> None:
    answer = send(owner, data=data)
    assert answer.status_code == 422
    assert words in answer.text
    assert not Payout.objects.exists()


def test_without_a_file_the_form_says_so(owner: Desk) -> None:
    assert owner.post("dashboard_import_payouts").status_code == 422
