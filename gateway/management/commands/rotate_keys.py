"""`manage.py rotate_keys`: puts new keys to use, and says what still needs old ones."""

from argparse import ArgumentParser
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from accounts.audit.service import record
from accounts.login.factors import reseal_factors
from accounts.models import Merchant
from checkouts.models import Checkout
from gateway.core.secrets import derivations
from gateway.core.signing import SigningKey, signs_now
from gateway.core.times import iso
from settlements.errors import NoGasError
from settlements.gas.repair import leaving, retire
from settlements.sweeps.plan import forwarder_chains
from webhooks.endpoints.secrets import reseal_secrets, roll_secret

_SEARCHED: Final = 1_000


class Command(BaseCommand):
    """Re-encrypts secrets, retires a gas key, rotates webhook secrets, or withdraws a key of receipts; `status` changes nothing."""

    help = (
        "encryption: encrypt every stored secret under the first of ENCRYPTION_KEYS. gas ADDRESS: give that key's accounts "
        "no new transactions. webhooks MERCHANT...: new webhook secrets, beside which the old ones sign for a while. "
        "receipts KEY: withdraw a key of signed receipts that leaked. "
        "status: what still needs an old key."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take what to rotate."""
        kinds = parser.add_subparsers(dest="kind", required=True, metavar="KIND")
        encryption = kinds.add_parser("encryption")
        gas = kinds.add_parser("gas")
        gas.add_argument("address")
        webhooks = kinds.add_parser("webhooks")
        webhooks.add_argument("merchants", nargs="+", metavar="MERCHANT")
        webhooks.add_argument("--hours", type=int, default=24)
        receipts = kinds.add_parser("receipts")
        receipts.add_argument("kid", metavar="KEY")
        for kind in (encryption, gas, webhooks, receipts):
            kind.add_argument("--dry-run", action="store_true", help="show, and change nothing")
        kinds.add_parser("status")

    def handle(self, *args: Any, kind: str, **options: Any) -> None:
        """Do it. Raises CommandError."""
        if not settings.ENCRYPTION_KEYS:
            raise CommandError("ENCRYPTION_KEYS is empty.")
        getattr(self, f"_{kind}")(**options)

    def _status(self, **_: Any) -> None:
        self._encryption(dry_run=True)
        self._say_gas()
        fallbacks = len(settings.SECRET_KEY_FALLBACKS)
        self.stdout.write(f"SECRET_KEY has {fallbacks} fallbacks.")

    def _encryption(self, *, dry_run: bool, **_: Any) -> None:
        kinds = {"Webhook secrets": reseal_secrets(dry_run=dry_run), "Second factors": reseal_factors(dry_run=dry_run)}
        done = "to be encrypted anew" if dry_run else "encrypted anew"
        for name, counted in kinds.items():
            self.stdout.write(
                f"{name}: {counted.current} under the first key, {counted.older} {done}, "
                f"{counted.unreadable} that no key opens."
            )
        changed = sum(counted.older for counted in kinds.values())
        if changed and not dry_run:
            record(None, action="encryption_keys.rotated", after={"secrets": changed}, now=timezone.now())
        for line in _addresses():
            self.stdout.write(line)
        if any(counted.unreadable for counted in kinds.values()):
            raise CommandError("Put the key that is missing back into ENCRYPTION_KEYS, and run this again.")

    def _gas(self, *, address: str, dry_run: bool, **_: Any) -> None:
        chains = [spec.name for spec in forwarder_chains()]
        try:
            count = retire(address, chains=chains, now=timezone.now(), dry_run=dry_run)
        except NoGasError as error:
            raise CommandError(f"{error}.") from error
        self.stdout.write(f"{count} accounts {'would be' if dry_run else 'are'} retired.")
        self._say_gas()

    def _say_gas(self) -> None:
        for one in leaving():
            coins = "an unknown number of" if one.coins is None else f"{one.coins:f}"
            told = f"{one.chain} {one.address}: {one.open} transactions not final yet, {coins} coins left"
            if one.open and not one.has_key:
                told += "; put its key back into GAS_KEYS until they are final"
            self.stdout.write(f"{told}.")

    def _webhooks(self, *, merchants: list[str], hours: int, dry_run: bool, **_: Any) -> None:
        found = Merchant.objects.filter(public_id__in=merchants)
        if missing := set(merchants) - set(found.values_list("public_id", flat=True)):
            raise CommandError(f"There is no merchant {min(missing)}.")
        for merchant in found.order_by("pk"):
            if not dry_run:
                overlap = timedelta(hours=hours)
                roll_secret(merchant, now=timezone.now(), overlap=overlap)
            self.stdout.write(
                f"{merchant.public_id} ({merchant.name}): the old secret {'would sign' if dry_run else 'signs'} "
                f"for {hours} more hours. Its owner sees the new one in the dashboard."
            )

    def _receipts(self, *, kid: str, dry_run: bool, **_: Any) -> None:
        key = SigningKey.objects.filter(kid=kid).first()
        if key is None:
            raise CommandError(f"There is no key {kid}.")
        now = timezone.now()
        if not dry_run:
            with transaction.atomic():
                if SigningKey.objects.filter(pk=key.pk, until=None).update(until=now):
                    record(None, action="signing_key.withdrawn", after={"kid": kid}, now=now)
        self.stdout.write(
            f"{kid} {'would be' if dry_run else 'is'} withdrawn. Its receipts are signed again when they are asked for."
        )
        if signs_now(key):
            self.stdout.write("Put another key first in ENCRYPTION_KEYS: nothing is signed before.")


def _addresses() -> Iterator[str]:
    """Say since when no checkout's address follows from a key: a restore needs that key for lost checkouts from before."""
    newest: dict[int, str] = {}
    rows = Checkout.objects.order_by("-pk").values_list("public_id", "deposit_nonce", "created_at")
    for public_id, nonce, created_at in rows[:_SEARCHED]:
        made = derivations(f"deposit:{public_id}")
        if bytes(nonce) in made:
            newest.setdefault(made.index(bytes(nonce)), iso(created_at))
    for number in range(1, len(settings.ENCRYPTION_KEYS)):
        last = newest.get(number, f"before the newest {_SEARCHED} checkouts")
        yield (
            f"Key {number + 1} was last used for a new address: {last}. Keep it while you may restore a backup from "
            "before that time."
        )
