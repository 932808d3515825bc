"""A process that works in an installation's database for a test, whose own Django is bound to another one.

Reads one JSON command per line from standard input, and answers each with a line of JSON: see `tests.florin`.
"""

import io
import json
import sys
import traceback
from collections.abc import Callable
from decimal import Decimal
from http import HTTPStatus
from pathlib import Path
from typing import Any

import django

django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402
from django.utils import timezone  # noqa: E402

from accounts.audit.actors import Actor  # noqa: E402
from accounts.keys.scopes import preset_powers  # noqa: E402
from accounts.keys.service import create_api_key, revoke_api_key  # noqa: E402
from accounts.merchants.service import create_merchant  # noqa: E402
from accounts.models import ApiKey, Merchant, User  # noqa: E402
from accounts.states import Mode, Preset  # noqa: E402
from checkouts.creation.service import create_checkout  # noqa: E402
from checkouts.inputs import NewCheckout  # noqa: E402
from checkouts.models import Checkout  # noqa: E402
from checkouts.states import TestScenario  # noqa: E402
from gateway.core.api.errors import ConflictError  # noqa: E402
from gateway.core.signing import claims_of  # noqa: E402
from payouts.approvals.service import approve_payout  # noqa: E402
from payouts.batches.service import Wanted, make_batch  # noqa: E402
from payouts.following.service import accept_lost_outflow  # noqa: E402
from payouts.lifecycle.service import Terms, request_payout  # noqa: E402
from payouts.models import Payout  # noqa: E402
from payouts.outflows.lost_outflows import lost_outflows  # noqa: E402
from payouts.states import Method  # noqa: E402
from wallets.receiving.service import set_receiving_wallet  # noqa: E402
from wallets.selectors import forget, offerable_chains  # noqa: E402
from webhooks.endpoints.secrets import ensure_secret  # noqa: E402
from webhooks.endpoints.service import set_default_url  # noqa: E402

LONGEST = 86_400


def set_up(*, wallets: dict[str, str], webhook_url: str, is_migrated: bool = False) -> dict[str, str]:
    """Migrate unless that was done, and make a merchant that is paid in these wallets, one for each chain, and is told at `webhook_url`."""
    if not is_migrated:
        call_command("migrate", verbosity=0)
    now = timezone.now()
    owner = User.objects.create_user("owner@example.test", "a password")
    merchant = create_merchant(name="Halden Roasters", actor=Actor(owner), now=now)
    for chain, wallet in wallets.items():
        set_receiving_wallet(merchant, chain=chain, address=wallet, now=now)
    set_default_url(merchant, mode=Mode.LIVE, url=webhook_url, now=now)
    _, key = create_api_key(merchant, mode=Mode.LIVE, name="test", powers=preset_powers(Preset.EVERYTHING), now=now)
    return {"live_key": key, "webhook_secret": ensure_secret(merchant, now=now)}


def offered() -> list[str]:
    """The names of the chains that a new live checkout would offer."""
    forget()
    merchant = Merchant.objects.get()
    return [one.name for one in offerable_chains(merchant.pk, Mode.LIVE)]


def create_checkouts(*, count: int, amount: str) -> list[dict[str, Any]]:
    """Create live checkouts; answers their public ids and offers."""
    forget()
    merchant = Merchant.objects.get()
    wanted = NewCheckout(
        amount=Decimal(amount),
        currency="USD",
        description="",
        metadata="{}",
        customer_email="",
        redirect_url="",
        webhook_url="",
        expires_in=LONGEST,
        customer_ref="",
        product_ref="",
        order_ref="",
        test_scenario=TestScenario.COMPLETED,
    )
    now = timezone.now()
    created = [create_checkout(merchant.pk, Mode.LIVE, wanted, now=now).row for _ in range(count)]
    return [{"id": row.public_id, "offers": row.offers} for row in created]


def create_key() -> str:
    """Create another live key."""
    powers = preset_powers(Preset.EVERYTHING)
    _, key = create_api_key(Merchant.objects.get(), mode=Mode.LIVE, name="test", powers=powers, now=timezone.now())
    return key


def choose_option(*, checkout: str, chain: str, token: str, key: str) -> Any:
    """Choose how to pay, over the API, as the key's holder; answers the option."""
    response = Client(SERVER_NAME="localhost").post(
        f"/api/v1/checkouts/{checkout}/options",
        {"chain": chain, "token": token},
        content_type="application/json",
        headers={"Authorization": f"Bearer {key}"},
    )
    if response.status_code != HTTPStatus.OK:
        raise RuntimeError(f"{response.status_code}: {response.content!r}")
    return response.json()


def receipt(*, checkout: str) -> Any:
    """Answer the claims of a checkout's signed receipt, as its buyer gets it; the error's code where there is none."""
    code = Checkout.objects.get(public_id=checkout).code
    response = Client(SERVER_NAME="localhost").get(f"/c/{code}/receipt.jws")
    if response.status_code != HTTPStatus.OK:
        return response.json()["error"]["code"]
    return claims_of(response.content)


def receipt_file(*, checkout: str) -> Any:
    """Answer a checkout's signed receipt as it is, and the keys that check it."""
    code, client = Checkout.objects.get(public_id=checkout).code, Client(SERVER_NAME="localhost")
    token = client.get(f"/c/{code}/receipt.jws").content.decode()
    return {"token": token, "jwks": client.get("/.well-known/jwks.json").json()}


def receipt_status(*, jti: str) -> Any:
    """Answer what became of a receipt's payment, as anybody is answered."""
    return Client(SERVER_NAME="localhost").get(f"/receipts/{jti}").json()["status"]


def resume_chain(*, chain: str, height: int) -> None:
    """Let a halted chain go on above `height`, as an operator would."""
    call_command("resume_chain", chain, height, stdout=io.StringIO())


def after_restore(*, lost_from: str, checkouts: str = "") -> str:
    """Tell the gateway that it lost time, and the ids of lost checkouts, a line each in a file; answers what was said."""
    said, lost = io.StringIO(), {}
    if checkouts:
        lost = {"merchant": Merchant.objects.get().public_id, "checkouts": Path(checkouts)}
    call_command("after_restore", lost_from=lost_from, stdout=said, **lost)
    return said.getvalue()


def revoke_key(*, public_id: str) -> None:
    """Revoke an API key."""
    revoke_api_key(ApiKey.objects.get(public_id=public_id), now=timezone.now())


def request_payout_of(*, amount: str, address: str, reference: str) -> str:
    """Ask for a payout of USDC on Base; answers its public id."""
    terms = Terms(chain="base", token="USDC", address=address, reference=reference)
    merchant = Merchant.objects.get()
    asked = request_payout(merchant, mode=Mode.LIVE, amount=Decimal(amount), terms=terms, now=timezone.now())
    return asked.payout.public_id


def approve(*, payout: str) -> str:
    """Approve a payout as the owner; answers why not, or nothing."""
    found = Payout.objects.get(public_id=payout)
    try:
        approve_payout(found, revision=found.revision, actor=_owner(), now=timezone.now())
    except ConflictError as error:
        return error.message
    return ""


def hand_out(*, payout: str, wallet: str) -> str:
    """Make a batch of one payout, which a wallet pays from a list; answers why not, or nothing."""
    wanted = Wanted([payout], wallet, Method.LIST)
    try:
        make_batch(Merchant.objects.get(), Mode.LIVE, wanted, actor=_owner(), now=timezone.now())
    except ConflictError as error:
        return error.message
    return ""


def take_lost_outflow(*, payout: str) -> str:
    """Say as the owner that an outflow of a lost time paid a payout; answers its transaction."""
    found = Payout.objects.get(public_id=payout)
    [outflow] = lost_outflows(found)
    accept_lost_outflow(found, outflow, actor=_owner(), now=timezone.now())
    return outflow.tx_hash


def _owner() -> Actor:
    return Actor(User.objects.get())


COMMANDS: dict[str, Callable[..., Any]] = {
    "set_up": set_up,
    "offered": offered,
    "create_checkouts": create_checkouts,
    "create_key": create_key,
    "choose_option": choose_option,
    "receipt": receipt,
    "receipt_file": receipt_file,
    "receipt_status": receipt_status,
    "resume_chain": resume_chain,
    "after_restore": after_restore,
    "revoke_key": revoke_key,
    "request_payout": request_payout_of,
    "approve": approve,
    "hand_out": hand_out,
    "take_lost_outflow": take_lost_outflow,
}


def main() -> None:
    """Work until standard input ends."""
    for line in sys.stdin:
        # Tests stop the server between two commands, and a connection used within the last second is not looked at.
        connection.close()
        order = json.loads(line)
        sys.stdout.write(json.dumps(_answer(order)) + "\n")
        sys.stdout.flush()


def _answer(order: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"answer": COMMANDS[order.pop("do")](**order)}
    except Exception:  # noqa: BLE001 - the test that asked fails by it, and the next one asks again
        return {"error": traceback.format_exc()}


if __name__ == "__main__":
    main()
