"""The chain options of a checkout, as the API returns them and the page shows them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from checkouts.inputs import OptionChoice
from checkouts.payloads import remaining_units
from checkouts.rows import CheckoutFacts
from checkouts.states import CheckoutStatus
from gateway.core.errors import ConflictError, InvalidRequestError
from gateway.core.money import format_token, from_units
from wallets.chains.registry import ChainSpec
from wallets.networks import chain_spec


def available_chains(checkout: CheckoutFacts, *, now: datetime) -> list[dict[str, Any]]:
    """Return every option offered, sorted by priority; each shows its first token's payment.

    Once the checkout takes no more money nobody is shown where to send it.
    """
    specs = sorted(
        (chain_spec(name) for name in checkout.offers), key=lambda spec: spec.priority
    )
    shown = takes_money(checkout, now=now)
    return [
        option(checkout, spec, checkout.offers[spec.name], is_payable=shown)
        for spec in specs
    ]


def takes_money(checkout: CheckoutFacts, *, now: datetime) -> bool:
    """Whether a payment begun now can still complete the checkout."""
    is_unpaid = checkout.status in (CheckoutStatus.PENDING, CheckoutStatus.UNDERPAID)
    return is_unpaid and now < checkout.expires_at


def option(
    checkout: CheckoutFacts,
    spec: ChainSpec,
    offer: Mapping[str, Any],
    *,
    is_payable: bool,
    token: str | None = None,
) -> dict[str, Any]:
    """Return one chain option; on exact-amount chains address, amount and URI stay null until it is chosen."""
    address = offer["address"] if is_payable else None
    units = remaining_units(checkout)
    chosen = token or offer["tokens"][0]
    return {
        "chain": spec.name,
        "name": spec.title,
        "tokens": offer["tokens"],
        "estimatedConfirmSec": spec.estimated_confirm_seconds,
        "gasTier": spec.gas_tier,
        "priority": spec.priority,
        "badge": spec.badge,
        "exactAmountRequired": spec.exact_amount_required,
        "address": address,
        "payAmount": format_token(from_units(units)) if address else None,
        "paymentUri": payment_uri(spec, chosen, address, units) if address else None,
    }


def payment_uri(spec: ChainSpec, token: str, address: str, units: int) -> str | None:
    """Return an ERC-681 link: `ethereum:<token>@<chain id>/transfer?address=<to>&uint256=<base units>`.

    For an "open wallet" button only: wallets have sent money to the token contract after scanning such a link. None
    where the settings no longer name the token.
    """
    known = spec.tokens.get(token)
    if known is None:
        return None
    target = f"ethereum:{known.address}@{spec.chain_id}/transfer"
    return f"{target}?address={address}&uint256={units}"


def chosen_option(
    checkout: CheckoutFacts, choice: OptionChoice, *, now: datetime
) -> dict[str, Any]:
    """Return the filled option a buyer chose.

    Raises InvalidRequestError (chain_unsupported, token_unsupported) for what was not offered, ConflictError
    (state_conflict) where the checkout takes no more money.
    """
    offer = checkout.offers.get(choice.chain)
    if offer is None or offer["address"] is None:
        raise InvalidRequestError(
            f"{choice.chain} cannot be paid on for this checkout.",
            param="chain",
            code="chain_unsupported",
        )
    if choice.token not in offer["tokens"]:
        raise InvalidRequestError(
            f"{choice.token} is not accepted on {choice.chain}.",
            param="token",
            code="token_unsupported",
        )
    if not takes_money(checkout, now=now):
        raise ConflictError(f"The checkout is {checkout.status} and takes no payment.")
    spec = chain_spec(choice.chain)
    return option(checkout, spec, offer, is_payable=True, token=choice.token)
