"""What merchants decide about themselves."""

import pytest

from accounts.merchants.service import BUYERS_MAY_RETRY, MAILS_RECEIPTS, ROUND_PRICE_RIVALS, turn
from accounts.models import AuditEntry, Merchant
from tests.factories import NOON, make_merchant, make_user

pytestmark = pytest.mark.django_db


def test_letting_buyers_retry_is_kept_and_audited_once_for_each_change() -> None:
    merchant, owner = make_merchant(), make_user()
    for allowed in (False, True, True, False):
        turn(merchant, BUYERS_MAY_RETRY, to=allowed, now=NOON, actor=owner)
        assert Merchant.objects.get().buyers_may_retry is allowed
        assert merchant.buyers_may_retry is allowed
    entries = AuditEntry.objects.order_by("pk").values_list("actor", "after")
    assert list(entries) == [(owner.pk, {"buyers_may_retry": True}), (owner.pk, {"buyers_may_retry": False})]


def test_mailing_receipts_is_off_and_its_switch_is_audited_once_for_each_change() -> None:
    merchant, owner = make_merchant(), make_user()
    assert merchant.mails_receipts is False
    for allowed in (False, True, True, False):
        turn(merchant, MAILS_RECEIPTS, to=allowed, now=NOON, actor=owner)
        assert Merchant.objects.get().mails_receipts is allowed
        assert merchant.mails_receipts is allowed
    entries = AuditEntry.objects.order_by("pk").values_list("actor", "after")
    assert list(entries) == [(owner.pk, {"mails_receipts": True}), (owner.pk, {"mails_receipts": False})]


def test_each_switch_is_audited_under_its_own_name_and_turns_no_other() -> None:
    merchant, switches = (make_merchant(), (BUYERS_MAY_RETRY, MAILS_RECEIPTS, ROUND_PRICE_RIVALS))
    before = {switch.field: getattr(merchant, switch.field) for switch in switches}
    for switch in switches:
        turn(merchant, switch, to=not before[switch.field], now=NOON)
        after = Merchant.objects.values(*before).get()
        assert {name for name in before if before[name] != after[name]} == {switch.field}
        turn(merchant, switch, to=before[switch.field], now=NOON)
    actions = AuditEntry.objects.order_by("pk").values_list("action", flat=True)
    assert list(actions) == [switch.action for switch in switches for _ in range(2)]
