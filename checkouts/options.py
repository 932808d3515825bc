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
from wallets.networks import chain_spec


def available_chains(checkout: CheckoutFacts) -> list[dict[str, Any]]:
    """Return every option offered, sorted by priority; each shows its first token's payment."""
    specs = sorted(
        (chain_spec(name) for name in checkout.offers), key=lambda spec: spec.priority
    )
    return [option(checkout, spec.name, checkout.offers[spec.name]) for spec in specs]


def option(
    checkout: CheckoutFacts,
    chain: str,
    offer: Mapping[str, Any],
    token: str | None = None,
) -> dict[str, Any]:
    """Return one chain option; on exact-amount chains address, amount and URI stay null until it is chosen."""
    spec = chain_spec(chain)
    address = offer["address"]
    pay_amount = (
        format_token(from_units(remaining_units(checkout))) if address else None
    )
    chosen = token or offer["tokens"][0]
    return {
        "chain": chain,
        "name": spec.title,
        "tokens": offer["tokens"],
        "estimatedConfirmSec": spec.estimated_confirm_seconds,
        "gasTier": spec.gas_tier,
        "priority": spec.priority,
        "badge": spec.badge,
        "exactAmountRequired": spec.exact_amount_required,
        "address": address,
        "payAmount": pay_amount,
        "paymentUri": (
            payment_uri(chain, chosen, address, remaining_units(checkout))
            if address
            else None
        ),
    }


def payment_uri(chain: str, token: str, address: str, units: int) -> str:
    """Return an ERC-681 link: `ethereum:<token>@<chain id>/transfer?address=<to>&uint256=<base units>`.

    For an "open wallet" button only: wallets have sent money to the token contract after scanning such a link.
    """
    spec = chain_spec(chain)
    contract = spec.tokens[token].address
    return f"ethereum:{contract}@{spec.chain_id}/transfer?address={address}&uint256={units}"


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
    if checkout.status not in (CheckoutStatus.PENDING, CheckoutStatus.UNDERPAID) or (
        now >= checkout.expires_at
    ):
        raise ConflictError(f"The checkout is {checkout.status} and takes no payment.")
    return option(checkout, choice.chain, offer, choice.token)
