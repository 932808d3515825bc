"""Adds, changes and removes watched wallets."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.db.models import Value
from django.db.models.functions import Greatest

from accounts.audit.actors import SYSTEM, Actor
from accounts.audit.service import record
from accounts.models import Merchant
from accounts.states import Mode
from gateway.core.api.errors import ConflictError, InvalidRequestError
from gateway.core.texts import pgettext_noop
from wallets.models import WatchedBalance, WatchedWallet
from wallets.models.watched import MOST_TAGS, TAG_LENGTH
from wallets.networks import chain_spec
from wallets.receiving.service import named_chain, typed_address
from wallets.states import WatchPurpose, WatchStatus

MOST_WATCHED: Final = 10_000
"""How many wallets a merchant may watch at once, in each mode."""

LABEL_LENGTH: Final = 80
# The columns of an unknown history.
_UNREAD: Final = {
    "history_from": None,
    "history_height": None,
    "history_until": None,
    "history_error": "",
    "history_read_at": None,
}


class WalletRemovedError(ConflictError):
    """The wallet is not watched any more: somebody removed it a moment ago."""


@transaction.atomic
def watch_wallet(
    merchant: Merchant,
    *,
    mode: Mode,
    chain: str,
    address: str,
    label: str = "",
    tags: Iterable[str] = (),
    actor: Actor = SYSTEM,
    now: datetime,
) -> tuple[WatchedWallet, bool]:
    """Watch an address; return the wallet, and whether it is new: one already watched stays unchanged.

    A removed wallet keeps its row when added again, so its movements are recorded and reported once; so does one that is
    watched for a payout. Any address of the chain may be watched, regardless of its owner. In test mode no chain is read,
    and balances are zero. Raises InvalidRequestError (chain_unsupported, address_invalid, parameter_invalid) and
    ConflictError (capacity_exhausted) where MOST_WATCHED are watched.
    """
    spec = named_chain(chain)
    canonical = typed_address(spec, address)
    # Concurrent calls wait here, so that neither the limit nor the address is passed twice.
    Merchant.objects.select_for_update(no_key=True).get(pk=merchant.pk)
    watched = WatchedWallet.objects.filter(merchant=merchant, mode=mode, removed_at=None, purpose=WatchPurpose.LIST)
    key = spec.family.address_key(canonical)
    present = watched.filter(chain=chain, key=key).first()
    if present is not None:
        return present, False
    if watched.count() >= MOST_WATCHED:
        raise ConflictError(
            pgettext_noop("team", "{most} wallets are watched; remove one first."),
            code="capacity_exhausted",
            values={"most": MOST_WATCHED},
        )
    wallet = _begin(merchant, mode, chain, canonical, key, clean_label(label), clean_tags(tags), now)
    record(
        merchant,
        action="watched_wallet.added",
        actor=actor,
        object_id=wallet.public_id,
        after={"chain": chain, "address": canonical, **_described(wallet)},
        now=now,
    )
    return wallet, True


@transaction.atomic
def watch_recipient(
    merchant: Merchant, *, mode: Mode, chain: str, address: str, until: datetime, actor: Actor = SYSTEM, now: datetime
) -> WatchedWallet:
    """Watch where a payout goes whose paying wallet is not watched, until a moment at full pace; return the wallet.

    Lists, reports and the API leave it out, and its history and balances are not read. One that is on the merchant's list, or was,
    stays or comes back there: a row's movements are reported once. Raises InvalidRequestError as `watch_wallet` does.
    """
    spec = named_chain(chain)
    canonical = typed_address(spec, address)
    Merchant.objects.select_for_update(no_key=True).get(pk=merchant.pk)
    place: dict[str, Any] = {
        "merchant": merchant,
        "mode": mode,
        "chain": chain,
        "key": spec.family.address_key(canonical),
    }
    wallet = WatchedWallet.objects.filter(removed_at=None, **place).first()
    if wallet is None and WatchedWallet.objects.filter(**place).exists():
        wallet, _ = watch_wallet(merchant, mode=mode, chain=chain, address=address, actor=actor, now=now)
    if wallet is None:
        wallet = WatchedWallet.objects.create(
            address=canonical, purpose=WatchPurpose.PAYOUT, status=WatchStatus.ACTIVE, created_at=now, **place
        )
    expect_payouts([wallet.pk], until=until)
    return wallet


def expect_payouts(wallet_ids: Iterable[int], *, until: datetime) -> None:
    """Have wallets read at full pace until a moment, and their movements queued from now on. It never shortens that.

    NULL is less than any moment to GREATEST.
    """
    rows = WatchedWallet.objects.filter(pk__in=list(wallet_ids))
    rows.update(expected_until=Greatest("expected_until", Value(until)))


@transaction.atomic
def change_watched_wallet(
    wallet: WatchedWallet,
    *,
    label: str | None = None,
    tags: Iterable[str] | None = None,
    actor: Actor = SYSTEM,
    now: datetime,
) -> WatchedWallet:
    """Change a watched wallet's label or tags; None leaves them unchanged.

    Raises InvalidRequestError (parameter_invalid), and WalletRemovedError.
    """
    wallet = _locked(wallet)
    before = _described(wallet)
    if label is not None:
        wallet.label = clean_label(label)
    if tags is not None:
        wallet.tags = clean_tags(tags)
    after = _described(wallet)
    if after == before:
        return wallet
    wallet.save(update_fields=["label", "tags"])
    record(
        wallet.merchant,
        action="watched_wallet.changed",
        actor=actor,
        object_id=wallet.public_id,
        before=before,
        after=after,
        now=now,
    )
    return wallet


@transaction.atomic
def remove_watched_wallet(wallet: WatchedWallet, *, actor: Actor = SYSTEM, now: datetime) -> WatchedWallet:
    """Stop watching a wallet; its records stay.

    Raises WalletRemovedError if that was done already, and ConflictError while a payout may leave or reach it.
    """
    wallet = _locked(wallet)
    if wallet.expected_until is not None and wallet.expected_until > now:
        raise ConflictError(
            pgettext_noop(
                "team", "Payouts are being sent from or to this wallet. Stop watching it once they are final."
            )
        )
    wallet.removed_at = now
    wallet.save(update_fields=["removed_at"])
    record(
        wallet.merchant,
        action="watched_wallet.removed",
        actor=actor,
        object_id=wallet.public_id,
        before={"chain": wallet.chain, "address": wallet.address, **_described(wallet)},
        now=now,
    )
    return wallet


def _begin(
    merchant: Merchant, mode: Mode, chain: str, address: str, key: bytes, label: str, tags: list[str], now: datetime
) -> WatchedWallet:
    has_history = mode == Mode.LIVE and settings.WALLET_HISTORY_DAYS > 0
    rows = WatchedWallet.objects.filter(merchant=merchant, mode=mode, chain=chain, key=key)
    wallet = rows.order_by("-pk").first() or WatchedWallet(merchant=merchant, mode=mode, chain=chain, key=key)
    begun = {
        "address": address,
        "label": label,
        "tags": tags,
        "purpose": WatchPurpose.LIST,
        "status": WatchStatus.IMPORTING if has_history else WatchStatus.ACTIVE,
        "created_at": now,
        "removed_at": None,
    }
    for name, value in (begun | _UNREAD).items():
        setattr(wallet, name, value)
    wallet.save()
    # Its old balance is outdated.
    WatchedBalance.objects.filter(wallet=wallet).delete()
    if mode == Mode.TEST:
        _hold_nothing(wallet, now=now)
    return wallet


def clean_label(label: str) -> str:
    """Return a trimmed label. Raises InvalidRequestError."""
    return _text(label, param="label", most=LABEL_LENGTH)


def clean_tags(tags: Iterable[str]) -> list[str]:
    """Return trimmed tags in order, without case-insensitive duplicates. Raises InvalidRequestError."""
    kept: dict[str, str] = {}
    for tag in tags:
        text = _text(tag, param="tags", most=TAG_LENGTH)
        if text:
            kept.setdefault(text.casefold(), text)
    if len(kept) > MOST_TAGS:
        raise InvalidRequestError(
            pgettext_noop("team", "A wallet has {most} tags at most."), param="tags", values={"most": MOST_TAGS}
        )
    return list(kept.values())


def _text(text: str, *, param: str, most: int) -> str:
    # Invisible characters would make two tags look alike.
    cleaned = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    if len(cleaned) > most:
        raise InvalidRequestError(
            pgettext_noop("team", "Must have {most} characters at most."), param=param, values={"most": most}
        )
    return cleaned


def _hold_nothing(wallet: WatchedWallet, *, now: datetime) -> None:
    WatchedBalance.objects.bulk_create(
        WatchedBalance(wallet=wallet, token=token.symbol, units=0, height=0, read_at=now)
        for token in chain_spec(wallet.chain).accepted_tokens
    )


def _locked(wallet: WatchedWallet) -> WatchedWallet:
    rows = WatchedWallet.objects.select_for_update(of=("self",))
    found = rows.select_related("merchant").get(pk=wallet.pk)
    if found.removed_at is not None:
        raise WalletRemovedError(pgettext_noop("team", "This wallet is not watched any more."))
    return found


def _described(wallet: WatchedWallet) -> dict[str, Any]:
    return {"label": wallet.label, "tags": wallet.tags}
