"""What merchants decide about themselves."""

import pytest

from accounts.merchants.service import let_buyers_retry, mail_receipts
from accounts.models import AuditEntry, Merchant
from tests.factories import NOON, make_merchant, make_user

pytestmark = pytest.mark.django_db


def test_letting_buyers_retry_is_kept_and_audited_once_for_each_change() -> None:
    merchant, owner = make_merchant(), make_user()
    for allowed in (False, True, True, False):
        let_buyers_retry(merchant, allowed=allowed, now=NOON, actor=owner)
        assert Merchant.objects.get().buyers_may_retry is allowed
        assert merchant.buyers_may_retry is allowed
    entries = AuditEntry.objects.order_by("pk").values_list("actor", "after")
    assert list(entries) == [
        (owner.pk, {"buyers_may_retry": True}),
        (owner.pk, {"buyers_may_retry": False}),
    ]


def test_mailing_receipts_is_off_and_its_switch_is_audited_once_for_each_change() -> (
    None
):
    merchant, owner = make_merchant(), make_user()
    assert merchant.mails_receipts is False
    for allowed in (False, True, True, False):
        mail_receipts(merchant, allowed=allowed, now=NOON, actor=owner)
        assert Merchant.objects.get().mails_receipts is allowed
        assert merchant.mails_receipts is allowed
    entries = AuditEntry.objects.order_by("pk").values_list("actor", "after")
    assert list(entries) == [
        (owner.pk, {"mails_receipts": True}),
        (owner.pk, {"mails_receipts": False}),
    ]
