"""A merchant's chats: added, tried and removed by its people. A chat's address is a secret: whoever has it can write there."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final

from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils.functional import lazy
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from accounts.audit.actors import Actor
from accounts.audit.service import record
from accounts.models import Merchant
from accounts.states import Mode
from accounts.team.service import mail_owners
from gateway.core.api.errors import ConflictError, InvalidRequestError
from gateway.core.ids import new_id
from gateway.core.outbound import check_destination, url_policy
from gateway.core.texts import Lazy
from notices.models import Chat
from notices.states import Kind, Service
from notices.words import message_body
from webhooks.endpoints.targets import UNREADABLE, Target, add_target, end_target, stored_target
from webhooks.outbox.events import NewEvent, publish
from webhooks.states import NOTES, Format

MOST_CHATS: Final = 5
"""How many chats a merchant has in each mode."""
_TOO_MANY: Final = gettext_noop("{most} chats get notices; remove one first.")


def target_for(service: Service, *, url: str = "", token: str = "", chat_id: str = "") -> Target:
    """Return where a service's messages go: a URL that it gave, or Telegram's method of a bot.

    Raises InvalidRequestError (url_invalid, url_forbidden) as for webhooks.
    """
    if service != Service.TELEGRAM:
        check_destination(url, param="url", policy=url_policy())
        return Target(url)
    bot, _, secret = token.partition(":")
    # As BotFather writes them: a number, and 35 letters that need no escape.
    plain = secret.replace("-", "").replace("_", "")
    if not (bot.isascii() and bot.isdigit() and plain.isascii() and plain.isalnum()):
        raise InvalidRequestError(gettext_noop("This is no bot's token."), param="token")
    target = Target(f"{settings.TELEGRAM_API_URL}/bot{token}/sendMessage", fields=(("chat_id", chat_id),))
    check_destination(target.url, param="token", policy=url_policy())
    return target


@transaction.atomic
def add_chat(
    merchant: Merchant,
    *,
    mode: Mode,
    service: Service,
    name: str,
    kinds: Sequence[Kind],
    target: Target,
    actor: Actor,
    now: datetime,
) -> Chat:
    """Add a chat, audit it and mail the owners. Raises ConflictError (capacity_exhausted) where MOST_CHATS are."""
    # Concurrent calls wait here, so that the limit is not passed.
    Merchant.objects.select_for_update(no_key=True).get(pk=merchant.pk)
    if Chat.objects.filter(merchant=merchant, mode=mode).count() >= MOST_CHATS:
        raise ConflictError(_TOO_MANY, code="capacity_exhausted", values={"most": MOST_CHATS})
    public_id = new_id("ntc")
    endpoint = add_target(merchant, target, form=Format.CHAT, name=public_id, now=now)
    chat = Chat.objects.create(
        public_id=public_id,
        merchant=merchant,
        mode=mode,
        service=service,
        name=name,
        kinds=[str(kind) for kind in kinds],
        endpoint=endpoint,
        added_by=actor.person,
        created_at=now,
    )
    after = {"mode": mode, "service": service, "name": name, "kinds": chat.kinds}
    record(merchant, action="notice_chat.added", actor=actor, object_id=public_id, after=after, now=now)
    _mail_owners(chat, _ADDED, kinds, key=f"notice_chat:{public_id}", actor=actor, now=now)
    return chat


def _mail_owners(chat: Chat, text: Lazy, kinds: Collection[Kind], *, key: str, actor: Actor, now: datetime) -> None:
    path = reverse("dashboard_notices", kwargs={"mer_id": chat.merchant.public_id, "mode": str(chat.mode)})
    mail_owners(
        chat.merchant_id,
        key=key,
        subject=format_lazy(_("A chat gets notices of {merchant}"), merchant=chat.merchant.name),
        text=format_lazy(
            text,
            actor=actor.name,
            name=chat.name,
            service=Service(chat.service).label,
            kinds=_listed(kinds),
            url=f"{settings.BASE_URL}{path}",
        ),
        now=now,
    )


_ADDED: Final = _("""\
{actor} added a chat, {name} on {service}. It gets notices of: {kinds}.

If you did not expect this, remove it, and check your team:
{url}
""")


_WIDENED: Final = _("""\
{actor} let a chat, {name} on {service}, get more notices. New are: {kinds}.

If you did not expect this, remove it, and check your team:
{url}
""")


def _kind_words(kinds: Collection[Kind]) -> str:
    return ", ".join(str(kind.label).lower() for kind in kinds)


_listed = lazy(_kind_words, str)


@transaction.atomic
def set_kinds(chat: Chat, kinds: Collection[Kind], *, actor: Actor, now: datetime) -> None:
    """Set the kinds of notices that a chat gets, and audit the change. Owners get a mail about new ones."""
    held = Chat.objects.select_for_update(of=("self",), no_key=True).select_related("merchant").get(pk=chat.pk)
    before, after = held.kinds, [str(kind) for kind in Kind if kind in kinds]
    if set(before) == set(after):
        return
    Chat.objects.filter(pk=held.pk).update(kinds=after)
    record(
        held.merchant,
        action="notice_chat.changed",
        actor=actor,
        object_id=held.public_id,
        before={"name": held.name, "kinds": before},
        after={"name": held.name, "kinds": after},
        now=now,
    )
    if new := [Kind(kind) for kind in after if kind not in before]:
        key = f"notice_chat:{held.public_id}:{now:%Y%m%d%H%M%S%f}"
        _mail_owners(held, _WIDENED, new, key=key, actor=actor, now=now)


def mute_chat_url(chat: Chat, kind: Kind) -> str:
    """Return the address of the page on which people of the team who may manage webhooks stop a kind in a chat. It needs a login.

    A chat keeps its messages for those who left the team, so a link that works for all of its readers would be theirs too.
    """
    where = {"mer_id": chat.merchant.public_id, "mode": chat.mode, "chat_id": chat.public_id}
    return f"{settings.BASE_URL}{reverse('dashboard_chat_events', kwargs=where)}?mute={kind}"


@transaction.atomic
def remove_chat(chat: Chat, *, actor: Actor, now: datetime) -> None:
    """Remove a chat: it is told nothing more, and its address is forgotten."""
    before = {"mode": chat.mode, "service": chat.service, "name": chat.name, "kinds": chat.kinds}
    record(chat.merchant, action="notice_chat.removed", actor=actor, object_id=chat.public_id, before=before, now=now)
    endpoint = chat.endpoint
    chat.delete()
    end_target(endpoint, now=now)


def try_chat(chat: Chat, *, now: datetime) -> None:
    """Send a message that says that it is a test; in a second, one. Raises ConflictError where its address cannot be read."""
    page = reverse("dashboard_notices", kwargs={"mer_id": chat.merchant.public_id, "mode": chat.mode})
    try:
        target = stored_target(chat.endpoint_id)
    except UNREADABLE as error:
        raise ConflictError(
            gettext_noop("The address of {name} cannot be read any more. Remove it, and add it again."),
            values={"name": chat.name},
        ) from error
    body = message_body(
        f"{chat.merchant.shown_name}: a test",
        "Notices of Florin arrive here.",
        f"{settings.BASE_URL}{page}",
        service=Service(chat.service),
        target=target,
    )
    event = NewEvent(
        merchant_id=chat.merchant_id,
        mode=NOTES,
        type="notice.test",
        subject_id=chat.public_id,
        occurrence=f"notice:{chat.public_id}:test:{now:%Y%m%d%H%M%S}",
        data=b"",
        url=chat.endpoint.url,
        is_sample=True,
        body=body,
    )
    publish([event], now=now)
