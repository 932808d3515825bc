"""The way of three payments, step by step. Each step of ours names its function, and tests record that it is called there."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Step:
    """An arrow between two participants. `function` is `module:name`, empty for what others do."""

    source: str
    target: str
    text: str
    function: str = ""


@dataclass(frozen=True)
class Flow:
    """A sequence diagram. `participants` are shown from left to right, by the name that steps use."""

    title: str
    intro: str
    participants: dict[str, str]
    steps: tuple[Step, ...]

    def functions(self) -> Iterator[str]:
        """Yield the functions of ours, in the order of their calls."""
        return (step.function for step in self.steps if step.function)


CHECKOUT: Final = Flow(
    title="From checkout to webhook",
    intro="A payment on Base, to a deposit address of its own.",
    participants={
        "shop": "Merchant's server",
        "web": "Web",
        "chain": "Chain",
        "watcher": "Watcher",
        "db": "PostgreSQL",
        "worker": "Worker",
        "sender": "Sender",
    },
    steps=(
        Step("shop", "web", "POST /api/v1/checkouts", "checkouts.api:CheckoutViewSet.create"),
        Step("web", "db", "checkout and deposit address, one statement", "checkouts.creation.service:create_checkout"),
        Step("shop", "chain", "the buyer pays the deposit address"),
        Step("watcher", "chain", "read the next blocks", "wallets.watchers.blocks:read_window"),
        Step("watcher", "db", "check the fence, advance the cursor", "wallets.watchers.ingest:commit_reading"),
        Step("watcher", "db", "write the transfer, same transaction", "wallets.transfers.service:record_transfers"),
        Step("watcher", "db", "confirm what is deep enough", "wallets.transfers.service:confirm_through"),
        Step("watcher", "worker", "ring after the commit", "wallets.transfers.service:ring_consumers"),
        Step("worker", "db", "take the queued transfers", "checkouts.attribution.queue:attribute_transfers"),
        Step("worker", "db", "lock their checkouts", "checkouts.attribution.queue:decide"),
        Step("worker", "worker", "decide, without the database", "checkouts.attribution.deposit_rules:decide_deposit"),
        Step("worker", "db", "write claim and payment", "checkouts.attribution.credit:write_credits"),
        Step("worker", "db", "recompute the checkout's status", "checkouts.lifecycle.moves:recompute"),
        Step("worker", "db", "insert event and delivery", "webhooks.outbox.events:publish"),
        Step("worker", "db", "take the transfer off the queue, and commit", "checkouts.attribution.credit:release"),
        Step("sender", "db", "claim due deliveries", "webhooks.delivery.claims:claim_batch"),
        Step("sender", "sender", "sign the body", "webhooks.signatures:sign"),
        Step("sender", "shop", "POST the event", "webhooks.delivery.transport:Transport.post"),
        Step("sender", "db", "write the attempt", "webhooks.delivery.attempts:record"),
    ),
)

EXACT: Final = Flow(
    title="From exact amount to credit",
    intro="A payment on Ethereum, Solana, TON or Tron, to the merchant's own wallet: the last digits name the checkout.",
    participants={"buyer": "Buyer", "web": "Web", "db": "PostgreSQL", "watcher": "Watcher", "worker": "Worker"},
    steps=(
        Step("buyer", "web", "choose a network", "checkouts.page.views:choose_network"),
        Step("web", "db", "lock the checkout", "checkouts.reservations:choose_exact_amount"),
        Step("web", "web", "rank the free suffixes", "checkouts.amounts:best_free"),
        Step("web", "web", "show the price with its suffix", "checkouts.amounts:exact_units"),
        Step("buyer", "watcher", "pays exactly that; the watcher reads the transfer"),
        Step("watcher", "db", "write the transfer", "wallets.transfers.service:record_transfers"),
        Step("worker", "db", "take the queued transfers", "checkouts.attribution.queue:attribute_transfers"),
        Step(
            "worker",
            "db",
            "find every checkout it may be for",
            "checkouts.attribution.candidates:Surroundings.look_around",
        ),
        Step("worker", "worker", "decide, without the database", "checkouts.attribution.exact_rules:decide_exact"),
        Step("worker", "db", "write claim and payment", "checkouts.attribution.credit:write_credits"),
        Step("worker", "db", "recompute the checkout's status", "checkouts.lifecycle.moves:recompute"),
        Step("worker", "db", "insert event and delivery", "webhooks.outbox.events:publish"),
    ),
)

SIGNED: Final = Flow(
    title="x402 by signature",
    intro="A machine pays by a signed authorisation (EIP-3009) on Base. Florin's gas account carries it out.",
    participants={"seller": "Paid API", "web": "Web", "db": "PostgreSQL", "node": "Chain node"},
    steps=(
        Step("seller", "web", "POST /api/v1/x402/verify", "x402.exact.facilitator:verify_standard"),
        Step("web", "web", "parse the body", "x402.exact.forms:parse_standard"),
        Step("web", "node", "check signature, funds and nonce", "x402.exact.evm.eip3009:refusal"),
        Step("web", "node", "simulate the call", "x402.exact.evm.eip3009:rehearsal"),
        Step("seller", "web", "POST /api/v1/x402/settle", "x402.exact.facilitator:settle_standard"),
        Step("web", "web", "refuse what is late or not for us", "x402.exact.checks:refuse_new"),
        Step("web", "node", "check again", "x402.exact.evm.eip3009:refusal"),
        Step("web", "db", "claim the authorisation", "x402.exact.authorizations:claim"),
        Step("web", "node", "estimate gas", "settlements.gas.relay:gas_for"),
        Step("web", "db", "next nonce and signed bytes, one transaction", "settlements.gas.ledger:intend"),
        Step("web", "node", "send the bytes", "settlements.gas.node:GasNode.send_first"),
        Step("web", "node", "look for the receipt", "x402.exact.evm.broadcast:look_at_once"),
        Step("web", "web", "read what the receipt proves", "x402.exact.evm.rail:conclude"),
        Step("web", "db", "end the claim", "x402.exact.records:settle_row"),
        Step("web", "db", "write payment, fee and used transfer", "x402.exact.records:record"),
        Step("web", "db", "give the success to one request", "x402.exact.authorizations:claim_success"),
        Step("web", "seller", "success, with the transaction's hash"),
    ),
)

FLOWS: Final = (CHECKOUT, EXACT, SIGNED)
