"""The notices page: a person's choices and devices, and the merchant's chats."""

from allauth.core.exceptions import ReauthenticationRequired
from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect, JsonResponse
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.debug import sensitive_post_parameters

from accounts.audit.actors import actor_of
from accounts.freshness import needs_proof
from accounts.team.access import SeatedRequest, seated
from accounts.team.permissions import Act
from gateway.core.api.errors import ConflictError, InvalidRequestError
from gateway.core.web.form_errors import add_refusal, words_of
from notices.chats import add_chat, remove_chat, set_kinds, target_for, try_chat
from notices.choices import choose, member_of
from notices.dashboard.forms import ChatForm, ChatKindsForm, ChoicesForm, DeviceForm, DigestForm
from notices.devices import add_device, known_devices, remove_device, renew_devices
from notices.models import Chat, Device
from notices.states import Kind, Service
from webhooks.push import server_key


@seated(get=Act.SEE, post=Act.SEE)
def notices(request: SeatedRequest) -> HttpResponse:
    """Show what the person is told, or keep what they chose."""
    seat = request.seat
    member = member_of(seat)
    if member is None:
        return _page(request, None)
    form = ChoicesForm(request.POST if request.method == "POST" else None, member=member)
    if request.method != "POST":
        return _page(request, form)
    if not form.is_valid():
        return _page(request, form, status=422)
    choose(seat.user, seat.merchant, mode=seat.mode, chosen=form.chosen)
    messages.success(request, gettext("Your choices are saved."))
    return _back(request)


@seated(post=Act.SEE)
@sensitive_post_parameters()
def add(request: SeatedRequest) -> HttpResponse:
    """Show notices in this browser, too."""
    form = DeviceForm(request.POST)
    member = member_of(request.seat)
    if member is None or not form.is_valid():
        messages.error(request, gettext("This browser did not say where it takes notices. Try again."))
        return _back(request)
    given = form.cleaned_data
    try:
        device = add_device(
            request.user,
            request.seat.merchant,
            url=given["endpoint"],
            p256dh=given["p256dh"],
            auth=given["auth"],
            made_for=given["made_for"],
            user_agent=request.headers.get("User-Agent", ""),
            now=timezone.now(),
        )
    except ConflictError as error:
        messages.error(request, words_of(error))
    except InvalidRequestError:
        messages.error(request, gettext("This browser's push service cannot be used. Your operator can allow it."))
    else:
        messages.success(request, gettext("Notices are shown by %(name)s.") % {"name": device.name})
    return _back(request)


@seated(get=Act.SEE, post=Act.SEE)
@sensitive_post_parameters()
def renew(request: SeatedRequest) -> HttpResponse:
    """Tell a browser which key subscriptions are made for now and whether its own is lost, or take its new subscription in place of the one before.

    `was` is the SHA-256 of the address before, in hexadecimal. Raises Http404 where it is no device of the person.
    """
    was = DigestForm(request.POST if request.method == "POST" else request.GET)
    digest = was.cleaned_data["was"] if was.is_valid() else b""
    if request.method != "POST":
        devices = list(known_devices(request.user, digest))
        if not devices:
            raise Http404
        is_lost = any(one.endpoint.disabled_at for one in devices)
        return JsonResponse({"key": server_key(), "is_lost": is_lost, "token": get_token(request)})
    form = DeviceForm(request.POST)
    if not form.is_valid():
        raise Http404
    given = form.cleaned_data
    target = {"url": given["endpoint"], "p256dh": given["p256dh"], "auth": given["auth"], "made_for": given["made_for"]}
    try:
        renewed = renew_devices(request.user, digest, **target, now=timezone.now())
    except InvalidRequestError as error:
        return JsonResponse({"error": words_of(error)}, status=422)
    if not renewed:
        raise Http404
    return HttpResponse(status=204)


@seated(post=Act.SEE)
def remove(request: SeatedRequest, *, device_id: str) -> HttpResponse:
    """Remove one of the person's devices."""
    mine = Device.objects.filter(user=request.user, merchant=request.seat.merchant).select_related("endpoint")
    device = mine.filter(public_id=device_id).first()
    if device is None:
        raise Http404
    remove_device(device, now=timezone.now())
    messages.success(request, gettext("%(name)s shows no more notices.") % {"name": device.name})
    return _back(request)


@seated(get=Act.MANAGE_WEBHOOKS, post=Act.MANAGE_WEBHOOKS, fresh=True)
@sensitive_post_parameters()
def new_chat(request: SeatedRequest) -> HttpResponse:
    """Add a chat."""
    form = ChatForm(request.POST or None)
    if request.method != "POST":
        return _chat_page(request, form)
    if not form.is_valid():
        return _chat_page(request, form, status=422)
    given = form.cleaned_data
    service = Service(given["service"])
    try:
        target = target_for(service, url=given["url"], token=given["token"], chat_id=given["chat_id"])
        add_chat(
            request.seat.merchant,
            mode=request.seat.mode,
            service=service,
            name=given["name"],
            kinds=form.chosen_kinds,
            target=target,
            actor=actor_of(request),
            now=timezone.now(),
        )
    except (ConflictError, InvalidRequestError) as error:
        add_refusal(form, error)
        return _chat_page(request, form, status=422)
    messages.success(
        request, gettext("%(name)s gets notices from now on. Send it a test message.") % {"name": given["name"]}
    )
    return _back(request)


@seated(get=Act.MANAGE_WEBHOOKS, post=Act.MANAGE_WEBHOOKS)
def chat_events(request: SeatedRequest, *, chat_id: str) -> HttpResponse:
    """Show the events of a chat, with the one of `?mute=` unticked, or set them. New ones ask for a recent login."""
    chat, now = _chat(request, chat_id), timezone.now()
    muted = Kind(name) if (name := request.GET.get("mute", "")) in chat.kinds else None
    offered = [kind for kind in chat.kinds if kind != muted]
    form = ChatKindsForm(request.POST if request.method == "POST" else None, kinds=offered)
    if request.method != "POST" or not form.is_valid():
        context = {"chat": chat, "form": form, "muted": muted.label if muted else ""}
        return render(request, "dashboard/notices/chat_events.html", context, status=422 if form.is_bound else 200)
    if form.chosen_kinds - {*chat.kinds} and needs_proof(request, now=now):
        raise ReauthenticationRequired
    set_kinds(chat, form.chosen_kinds, actor=actor_of(request), now=now)
    messages.success(request, gettext("The events of %(name)s are saved.") % {"name": chat.name})
    return _back(request)


@seated(post=Act.MANAGE_WEBHOOKS)
def send_test(request: SeatedRequest, *, chat_id: str) -> HttpResponse:
    """Send a chat a test message."""
    chat = _chat(request, chat_id)
    if chat.endpoint.disabled_at is not None:
        messages.error(
            request, gettext("%(name)s took nothing for days. Remove it, and add it again.") % {"name": chat.name}
        )
        return _back(request)
    try:
        try_chat(chat, now=timezone.now())
    except ConflictError as error:
        messages.error(request, words_of(error))
    else:
        messages.success(request, gettext("A test message is on its way to %(name)s.") % {"name": chat.name})
    return _back(request)


@seated(post=Act.MANAGE_WEBHOOKS)
def drop_chat(request: SeatedRequest, *, chat_id: str) -> HttpResponse:
    """Remove a chat."""
    chat = _chat(request, chat_id)
    remove_chat(chat, actor=actor_of(request), now=timezone.now())
    messages.success(request, gettext("%(name)s gets no more notices.") % {"name": chat.name})
    return _back(request)


def _chat(request: SeatedRequest, chat_id: str) -> Chat:
    seat = request.seat
    rows = Chat.objects.filter(merchant=seat.merchant, mode=seat.mode).select_related("endpoint", "merchant")
    chat = rows.filter(public_id=chat_id).first()
    if chat is None:
        raise Http404
    return chat


def _back(request: SeatedRequest) -> HttpResponse:
    return HttpResponseRedirect(request.seat.url("dashboard_notices"))


def _page(request: SeatedRequest, form: ChoicesForm | None, status: int = 200) -> HttpResponse:
    seat = request.seat
    devices = Device.objects.filter(user=seat.user, merchant=seat.merchant).select_related("endpoint")
    chats = Chat.objects.filter(merchant=seat.merchant, mode=seat.mode).select_related("endpoint")
    context = {
        "form": form,
        "devices": list(devices.order_by("pk")) if form else [],
        "chats": [(chat, [Kind(kind).label for kind in chat.kinds]) for chat in chats.order_by("pk")],
        "server_key": server_key() if form else "",
    }
    return render(request, "dashboard/notices/notices.html", context, status=status)


def _chat_page(request: SeatedRequest, form: ChatForm, status: int = 200) -> HttpResponse:
    return render(request, "dashboard/notices/new_chat.html", {"form": form}, status=status)
