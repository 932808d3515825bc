"""The notices page: choices, devices and chats, each only its person's or team's."""

import re
from hashlib import sha256
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.conf import settings
from django.test import Client

from accounts.models import AuditEntry, Membership, Merchant
from accounts.states import Mode, Role
from mails.models import OutgoingMail
from notices.chats import mute_chat_url
from notices.devices import MOST_DEVICES
from notices.models import Chat, Choice, Device
from notices.states import How, Kind, Service, Way
from tests.dashboard.people import Desk, make_desk
from tests.factories import NOON, make_merchant
from tests.notices.browsers import AGENT, SLACK, Browser
from webhooks.endpoints.targets import stored_target
from webhooks.health import GONE
from webhooks.models import Delivery, Endpoint
from webhooks.push import server_key
from webhooks.states import NOTES

pytestmark = pytest.mark.django_db

CHAT = {"service": "slack", "name": "#orders", "url": SLACK, "kinds": ["payment", "inbox"]}


def selected(page: str) -> dict[str, str]:
    """The value of each select."""
    found = re.findall(r'<select name="(\w+)".*?</select>', page, re.DOTALL)
    return {
        name: re.search(rf'name="{name}".*?<option value="(\w+)" selected', page, re.DOTALL)[1]  # type: ignore[index]
        for name in found
    }


def test_the_page_shows_what_is_usual_for_a_role(owner: Desk, viewer: Desk) -> None:
    of_owner = selected(owner.get("dashboard_notices").content.decode())
    assert of_owner["payment_mail"] == "daily"
    assert of_owner["inbox_mail"] == of_owner["refund_mail"] == of_owner["chain_push"] == "at_once"
    assert "gas_push" not in of_owner
    of_viewer = selected(viewer.get("dashboard_notices").content.decode())
    assert {value for name, value in of_viewer.items() if name.endswith("_mail")} == {"never"}
    assert "refund_mail" not in of_viewer


def test_test_mode_is_never_at_first(owner_in_test_mode: Desk) -> None:
    assert set(selected(owner_in_test_mode.get("dashboard_notices").content.decode()).values()) == {"never"}


def test_choices_are_kept_for_one_person_merchant_and_mode(owner: Desk) -> None:
    other = make_desk(owner.merchant)
    usual = selected(owner.get("dashboard_notices").content.decode())
    assert (
        owner.post("dashboard_notices", usual | {"payment_mail": "at_once", "inbox_push": "never"}).status_code == 302
    )
    now = selected(owner.get("dashboard_notices").content.decode())
    assert (now["payment_mail"], now["inbox_push"]) == ("at_once", "never")
    assert selected(other.get("dashboard_notices").content.decode()) == usual
    owner.mode = Mode.TEST
    assert set(selected(owner.get("dashboard_notices").content.decode()).values()) == {"never"}
    # Again, the other way.
    owner.mode = Mode.LIVE
    owner.post("dashboard_notices", usual)
    assert selected(owner.get("dashboard_notices").content.decode()) == usual


@pytest.mark.parametrize("answer", ["daily", "soon", "", "x" * 999])
def test_an_answer_that_a_way_does_not_have_is_refused(owner: Desk, answer: str) -> None:
    usual = selected(owner.get("dashboard_notices").content.decode())
    assert owner.post("dashboard_notices", usual | {"inbox_push": answer}).status_code == 422
    assert not Choice.objects.exists()


def test_a_browser_is_added_once_and_removed(owner: Desk) -> None:
    browser = Browser()
    owner.client.defaults["HTTP_USER_AGENT"] = AGENT
    for _ in range(2):
        assert owner.post("dashboard_add_device", browser.form).status_code == 302
    device = Device.objects.get()
    page = owner.get("dashboard_notices").content.decode()
    assert "Firefox on Linux" in page
    assert "fcm.googleapis.com" not in page
    target = stored_target(device.endpoint_id)
    assert (target.url, target.p256dh) == (browser.url, browser.p256dh)
    owner.post("dashboard_remove_device", device_id=device.public_id)
    assert not Device.objects.exists()


@pytest.mark.parametrize(
    "change",
    [
        {"endpoint": "https://evil.example/push"},
        {"endpoint": "https://fcm.googleapis.com.evil.example/"},
        {"endpoint": "https://evilfcm.googleapis.com/"},
        {"endpoint": "http://10.0.0.1/"},
        {"p256dh": "AAAA"},
        {"auth": "AAAA"},
        {"made_for": "another"},
        {"made_for": ""},
        {"endpoint": "x" * 3_000},
    ],
)
def test_a_subscription_that_is_none_is_refused(owner: Desk, change: dict[str, str], settings: Any) -> None:
    settings.WEBHOOK_ALLOW_LOOPBACK = False
    assert owner.post("dashboard_add_device", Browser().form | change).status_code == 302
    assert not Device.objects.exists()
    assert not Endpoint.objects.exists()


def test_a_person_has_so_many_devices_at_most(owner: Desk) -> None:
    for number in range(MOST_DEVICES + 1):
        owner.post("dashboard_add_device", Browser(f"https://fcm.googleapis.com/{number}").form)
    assert Device.objects.count() == MOST_DEVICES
    assert "remove one first" in owner.get("dashboard_notices").content.decode()


def digest_of(browser: Browser) -> str:
    return sha256(browser.url.encode()).hexdigest()


def test_a_browser_whose_subscription_ended_is_shown_and_subscribes_anew(owner: Desk) -> None:
    browser, other = Browser(), make_merchant()
    Membership.objects.create(merchant=other, user=owner.user, role=Role.ADMIN)
    for merchant in (owner.merchant, other):
        browser.added(owner.user, merchant)
    Endpoint.objects.update(disabled_at=NOON, disabled_reason=GONE)
    assert "shows no more notices" in owner.get("dashboard_notices").text
    page = owner.url("dashboard_renew_device")
    told = owner.client.get(f"{page}?was={digest_of(browser)}").json()
    assert (told["key"], told["is_lost"]) == (server_key(), True)
    # In another session, somebody else's browser: as if it were not there.
    assert make_desk(owner.merchant).client.get(f"{page}?was={digest_of(browser)}").status_code == 404
    renewed = Browser("https://fcm.googleapis.com/wp/new")
    assert owner.client.post(page, renewed.form | {"was": digest_of(browser)}).status_code == 204
    # At each merchant: a browser has one subscription.
    for device in Device.objects.select_related("endpoint"):
        assert stored_target(device.endpoint_id).url == renewed.url
        assert device.endpoint.disabled_at is None
    assert Device.objects.count() == 2
    assert "shows no more notices" not in owner.get("dashboard_notices").text
    # A second page of the browser finds nothing to renew.
    assert owner.client.post(page, renewed.form | {"was": digest_of(browser)}).status_code == 404
    told = owner.client.get(f"{page}?was={digest_of(renewed)}").json()
    assert told["is_lost"] is False


@pytest.mark.parametrize("was", ["", "x" * 64, "0" * 64, "0" * 63])
def test_a_browser_that_is_no_device_renews_nothing(owner: Desk, was: str) -> None:
    Browser().added(owner.user, owner.merchant)
    page = owner.url("dashboard_renew_device")
    assert owner.client.get(f"{page}?was={was}").status_code == 404
    assert owner.client.post(page, Browser("https://fcm.googleapis.com/wp/new").form | {"was": was}).status_code == 404
    assert stored_target(Device.objects.get().endpoint_id).url == Browser().url


def test_a_renewed_subscription_is_checked_as_a_new_one(owner: Desk) -> None:
    Browser().added(owner.user, owner.merchant)
    bad = Browser().form | {"was": digest_of(Browser()), "made_for": "another"}
    assert owner.client.post(owner.url("dashboard_renew_device"), bad).status_code == 422


def test_a_renewed_browser_is_one_device_where_its_new_subscription_was_added_already(owner: Desk) -> None:
    renewed = Browser("https://fcm.googleapis.com/wp/new")
    for browser in (Browser(), renewed):
        browser.added(owner.user, owner.merchant)
    form = renewed.form | {"was": digest_of(Browser())}
    assert owner.client.post(owner.url("dashboard_renew_device"), form).status_code == 204
    assert stored_target(Device.objects.get().endpoint_id).url == renewed.url


def test_lost_devices_leave_room_for_others(owner: Desk) -> None:
    for number in range(MOST_DEVICES):
        Browser(f"https://fcm.googleapis.com/{number}").added(owner.user, owner.merchant)
    Endpoint.objects.update(disabled_at=NOON, disabled_reason=GONE)
    owner.post("dashboard_add_device", Browser().form)
    assert Device.objects.count() == MOST_DEVICES + 1


def test_the_dashboard_is_put_on_a_home_screen_with_its_login(owner: Desk) -> None:
    answer = owner.get("dashboard_overview")
    assert '<link rel="manifest" href="/notices/manifest.webmanifest">' in answer.text
    # Without it the policy's default keeps browsers from reading the manifest.
    assert "manifest-src 'self'" in answer["Content-Security-Policy"]
    body = Client().get("/notices/manifest.webmanifest").json()
    assert (body["start_url"], body["scope"], body["display"]) == ("/dashboard/", "/", "standalone")
    assert Client().get(body["start_url"])["Location"].startswith("/account/login/")


def test_nobody_sees_or_removes_anothers_device(owner: Desk) -> None:
    other, stranger = make_desk(owner.merchant), make_desk()
    device = Browser().added(owner.user, owner.merchant)
    for desk in (other, stranger):
        assert device.public_id not in desk.get("dashboard_notices").content.decode()
        assert desk.post("dashboard_remove_device", device_id=device.public_id).status_code == 404
    assert Device.objects.exists()


def test_a_chat_is_added_audited_and_mailed_and_its_address_is_shown_nowhere(owner: Desk) -> None:
    assert owner.post("dashboard_add_chat", CHAT).status_code == 302
    chat = Chat.objects.get()
    assert (chat.service, chat.kinds, chat.mode) == (Service.SLACK, [Kind.PAYMENT, Kind.INBOX], Mode.LIVE)
    shown = owner.get("dashboard_notices").content.decode() + owner.get("dashboard_audit_log").content.decode()
    mail = OutgoingMail.objects.get(key__startswith="notice_chat:")
    assert "It gets notices of: payments, inbox items." in mail.text
    audited = AuditEntry.objects.get(action="notice_chat.added")
    for text in (shown, mail.text, str(audited.after), chat.endpoint.url):
        assert "secretsecret" not in text


def test_a_chat_needs_what_its_service_needs(owner: Desk) -> None:
    for form in (
        {**CHAT, "url": ""},
        {**CHAT, "service": "telegram"},
        {**CHAT, "kinds": []},
        {**CHAT, "kinds": ["gas"]},
    ):
        assert owner.post("dashboard_add_chat", form).status_code == 422
    assert "secretsecret" not in owner.post("dashboard_add_chat", {**CHAT, "kinds": []}).headers.get("Location", "")
    telegram = {**CHAT, "service": "telegram", "url": "", "token": "12345:" + "a" * 35, "chat_id": "-100"}
    assert owner.post("dashboard_add_chat", telegram).status_code == 302


def test_a_chat_is_tried_and_removed(owner: Desk) -> None:
    owner.post("dashboard_add_chat", CHAT)
    chat = Chat.objects.get()
    owner.post("dashboard_try_chat", chat_id=chat.public_id)
    assert Delivery.objects.get(mode=NOTES).event_type == "notice.test"
    owner.post("dashboard_remove_chat", chat_id=chat.public_id)
    assert not Chat.objects.exists()
    assert AuditEntry.objects.filter(action="notice_chat.removed").exists()


def test_a_chats_events_are_changed_audited_and_new_ones_mailed(owner: Desk) -> None:
    owner.post("dashboard_add_chat", CHAT)
    chat = Chat.objects.get()
    mails = OutgoingMail.objects.count()
    assert owner.post("dashboard_chat_events", {"kinds": ["inbox"]}, chat_id=chat.public_id).status_code == 302
    assert Chat.objects.get().kinds == [Kind.INBOX]
    assert OutgoingMail.objects.count() == mails, "less is no news for owners"
    owner.post("dashboard_chat_events", {"kinds": ["inbox", "payout"]}, chat_id=chat.public_id)
    assert Chat.objects.get().kinds == [Kind.INBOX, Kind.PAYOUT]
    assert "New are: refunds and payouts sent." in OutgoingMail.objects.latest("pk").text
    # The same again is no change.
    owner.post("dashboard_chat_events", {"kinds": ["payout", "inbox"]}, chat_id=chat.public_id)
    entries = AuditEntry.objects.filter(action="notice_chat.changed").order_by("pk")
    assert [(one.after or {})["kinds"] for one in entries] == [["inbox"], ["inbox", "payout"]]
    owner.post("dashboard_chat_events", {}, chat_id=chat.public_id)
    assert Chat.objects.get().kinds == []
    assert "<td>None</td>" in owner.get("dashboard_notices").text


def test_the_link_in_a_chat_leads_to_its_events_with_that_kind_unticked(owner: Desk) -> None:
    owner.post("dashboard_add_chat", CHAT)
    chat = Chat.objects.select_related("merchant").get()
    address = mute_chat_url(chat, Kind.PAYMENT).removeprefix(settings.BASE_URL)
    assert Client().get(address)["Location"].startswith("/account/login/"), "a chat's readers may have left the team"
    page = owner.client.get(address).text
    ticked = {name for name in re.findall(r'value="(\w+)"[^>]*checked', page) if name in Kind.values}
    assert ticked == {Kind.INBOX}
    assert "no more notices of this kind: Payments." in page
    assert Chat.objects.get().kinds == [Kind.PAYMENT, Kind.INBOX], "a program that looks at links changes nothing"
    # A kind that the chat has not is none to mute.
    assert "no more notices" not in owner.get("dashboard_chat_events", "?mute=gas", chat_id=chat.public_id).text


def test_an_old_login_mutes_a_chat_and_confirms_itself_before_it_gets_more(owner: Desk) -> None:
    owner.post("dashboard_add_chat", CHAT)
    chat = Chat.objects.get()
    desk = make_desk(owner.merchant, Role.ADMIN, fresh=False)
    assert desk.post("dashboard_chat_events", {"kinds": ["inbox"]}, chat_id=chat.public_id).status_code == 302
    assert Chat.objects.get().kinds == [Kind.INBOX]
    answer = desk.post("dashboard_chat_events", {"kinds": ["inbox", "payment"]}, chat_id=chat.public_id)
    assert "reauthenticate" in answer["Location"]
    assert Chat.objects.get().kinds == [Kind.INBOX]


def test_a_chat_of_a_lost_key_is_not_tried_and_says_why(owner: Desk, settings: Any) -> None:
    owner.post("dashboard_add_chat", CHAT)
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    owner.post("dashboard_try_chat", chat_id=Chat.objects.get().public_id)
    assert "cannot be read any more" in owner.get("dashboard_notices").text
    assert not Delivery.objects.filter(mode=NOTES).exists()


def test_viewers_see_chats_and_change_none(owner: Desk, viewer: Desk) -> None:
    owner.post("dashboard_add_chat", CHAT)
    chat = Chat.objects.get()
    page = viewer.get("dashboard_notices").content.decode()
    assert "#orders" in page
    assert "Add chat" not in page
    assert viewer.get("dashboard_add_chat").status_code == 403
    assert viewer.get("dashboard_chat_events", chat_id=chat.public_id).status_code == 403
    for name in ("dashboard_chat_events", "dashboard_try_chat", "dashboard_remove_chat"):
        assert viewer.post(name, chat_id=chat.public_id).status_code == 403


def test_the_other_modes_chat_is_not_there(owner: Desk) -> None:
    owner.post("dashboard_add_chat", CHAT)
    chat = Chat.objects.get()
    owner.get("dashboard_notices")  # It says so once.
    owner.mode = Mode.TEST
    assert "#orders" not in owner.get("dashboard_notices").content.decode()
    assert owner.post("dashboard_remove_chat", chat_id=chat.public_id).status_code == 404


def test_an_old_login_confirms_itself_before_a_chat_is_added(merchant: Merchant) -> None:
    desk = make_desk(merchant, Role.ADMIN, fresh=False)
    answer = desk.post("dashboard_add_chat", CHAT)
    assert answer.status_code == 302
    assert "reauthenticate" in answer["Location"]
    assert not Chat.objects.exists()


def test_the_worker_is_served_where_it_stays(owner: Desk) -> None:
    answer = owner.client.get("/notices/worker.js")
    assert answer["Content-Type"].startswith("text/javascript")
    assert answer["Cache-Control"] == "no-cache"
    assert b'addEventListener("push"' in answer.content


def test_without_keys_the_page_says_why_there_are_no_devices(owner: Desk, settings: Any) -> None:
    settings.ENCRYPTION_KEYS = []
    page = owner.get("dashboard_notices").content.decode()
    assert "once the operator has set ENCRYPTION_KEYS" in page
    assert "data-push" not in page


def test_operators_choose_what_they_are_told_of_gas(owner: Desk) -> None:
    owner.user.is_staff = True
    owner.user.save(update_fields=["is_staff"])
    choices = selected(owner.get("dashboard_notices").content.decode())
    assert choices["gas_push"] == "at_once"
    assert "gas_mail" not in choices
    owner.post("dashboard_notices", choices | {"gas_push": "never"})
    assert Choice.objects.get(kind=Kind.GAS, way=Way.PUSH).how == How.NEVER
