"""What a person of a team is told of their own act: a refusal, why something was left out, what the audit log says, mails about modes."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import translation

from accounts.audit.actors import Actor
from accounts.audit.service import record
from accounts.dashboard.audit_log import ACTIONS
from accounts.dashboard.audit_sentences import CODES
from accounts.keys.service import mail_expiring
from accounts.models import ApiKey, Merchant
from accounts.states import FeeTier, Mode, Role
from checkouts.states import InboxAct
from gateway.core.texts import team_words
from links.states import LinkStatus
from mails.models import OutgoingMail
from payouts.approvals.reviews import approve_list, digest_of
from payouts.lifecycle.service import set_address
from payouts.states import AddressBy, PayoutKind
from tests.accounts.dashboard.test_audit_sentences import line_of
from tests.dashboard.people import Desk, make_desk
from tests.factories import NOON, make_key
from tests.payouts.dashboard.test_approving import confirm, look
from tests.payouts.factories import OTHER_BUYER, make_paid, make_payout, refund_of
from webhooks.endpoints.service import set_default_url

pytestmark = pytest.mark.usefixtures("db", "still_noon")


@pytest.fixture
def spanish(merchant: Merchant) -> Desk:
    """An owner who reads Spanish and has a second factor."""
    desk = make_desk(merchant, factor=True)
    desk.user.language = "es"
    desk.user.save()
    return desk


def test_a_refund_of_nothing_left_is_refused_in_words_of_ours(spanish: Desk) -> None:
    paid = make_paid(spanish.merchant)
    refund_of(paid)
    answer = spanish.client.get(spanish.url("dashboard_refund", checkout_id=paid.public_id), follow=True)
    assert "Todo este dinero ya está reembolsado" in answer.text
    assert "La API dice" not in answer.text


def test_who_is_in_the_team_already_is_named_in_the_readers_language(spanish: Desk) -> None:
    answer = spanish.post("dashboard_invite", {"email": spanish.user.email, "role": "viewer"})
    assert answer.status_code == 409
    assert f"{spanish.user.email} ya está en el equipo." in answer.text


def test_why_a_payout_is_left_out_is_said_in_the_readers_language(spanish: Desk) -> None:
    payouts = [make_payout(spanish.merchant), make_payout(spanish.merchant)]
    page = look(spanish, *payouts)
    set_address(payouts[1], address=OTHER_BUYER, by=AddressBy.API, now=NOON)
    answer = confirm(spanish, page)
    assert answer.status_code == 409
    assert "La dirección cambió desde que usted la vio. Compruébela y apruebe de nuevo." in answer.text
    assert "has changed since you looked" not in answer.text


def test_the_test_mode_is_a_noun(spanish: Desk) -> None:
    page = spanish.get("dashboard_overview").text
    assert ">Prueba</a>" in page
    in_test_mode = Desk(spanish.client, spanish.merchant, spanish.user, Mode.TEST)
    assert "<h1>Nueva clave de modo de prueba</h1>" in in_test_mode.get("dashboard_create_key").text


def test_a_word_that_buyers_have_in_another_sense_is_the_dashboards_here(spanish: Desk) -> None:
    with translation.override("es"):
        assert translation.gettext("On") == "Red"
        assert translation.pgettext("team", "On") == "Activado"
    page = spanish.get("dashboard_reports").text
    assert '<label for="filter-from">Desde</label>' in page
    assert '<label for="filter-to">Hasta</label>' in page


@pytest.mark.parametrize(
    ("action", "facts", "line"),
    [
        (
            "member.role_changed",
            {"before": {"role": "viewer"}, "after": {"role": "admin"}},
            "Cambió a {object} de observador a administrador",
        ),
        ("notice_chat.removed", {"before": {"name": "ventas"}}, "avisos"),
        ("payouts.approved", {"after": {"payouts": 3}}, "3 desembolsos"),
        ("inbox.decided", {"object_id": "7", "after": {"act": "accept_late"}}, ": aceptar pago tardío"),
        ("webhook_url.changed", {"after": {"mode": "test", "url": "https://a.test/"}}, "modo de prueba"),
        ("payment_link.status_set", {"object_id": "lnk_live_x", "after": {"status": "paused"}}, "en pausa"),
        ("payout.requested", {"object_id": "po_live_x", "after": {"kind": "refund"}}, "reembolso"),
    ],
)
def test_an_entrys_codes_are_words(action: str, facts: dict[str, Any], line: str, spanish: Desk) -> None:
    record(spanish.merchant, action=action, now=NOON, **({"object_id": spanish.user.public_id} | facts))
    assert line.format(object=spanish.user.email) in line_of(spanish)


def test_every_code_of_a_sentence_has_a_word() -> None:
    kinds = {"role": Role, "mode": Mode, "plan": FeeTier, "status": LinkStatus, "kind": PayoutKind, "act": InboxAct}
    assert {name: set(CODES[name]) for name in kinds} == {name: set(kind.values) for name, kind in kinds.items()}
    assert CODES["old_role"] == CODES["role"]
    assert CODES.keys() == {*kinds, "old_role"}


@pytest.mark.parametrize("code", ["es", "hi", "zh-hans"])
def test_no_label_of_the_audit_log_is_english(code: str) -> None:
    with translation.override(code):
        same = {label for label in ACTIONS.values() if team_words(label) == label}
    assert same == set()


def test_mails_about_keys_and_webhooks_name_the_mode_in_the_owners_language(spanish: Desk) -> None:
    key, _ = make_key(spanish.merchant, Mode.TEST)
    ApiKey.objects.filter(pk=key.pk).update(expires_at=NOON + timedelta(days=3))
    assert mail_expiring(now=NOON) == 1
    url = "https://erp.example/"
    set_default_url(spanish.merchant, mode=Mode.TEST, url=url, now=NOON, actor=Actor(spanish.user))
    expires, moved = (mail.text for mail in OutgoingMail.objects.filter(recipient=spanish.user.email).order_by("pk"))
    assert expires.startswith("La clave de modo de prueba “test”")
    assert "los eventos de modo de prueba de" in moved


def test_the_mail_about_a_list_says_its_sums_in_the_owners_language(spanish: Desk) -> None:
    payout = make_payout(spanish.merchant)
    shown = {payout.public_id: payout.revision}
    digest = digest_of([payout])
    with translation.override("hi"):
        approve_list(spanish.merchant, Mode.LIVE, shown, digest=digest, actor=Actor(spanish.user), now=NOON)
    mail = OutgoingMail.objects.get(recipient=spanish.user.email, key__startswith="payouts-approved:")
    assert "\n  5.00 USDC en Base\n" in mail.text
