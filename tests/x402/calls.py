"""Asking the facilitator over its API, as a resource server does."""

from dataclasses import dataclass, replace
from typing import Any

from tests.contract.client import Answer, ApiClient

RESOURCE = "https://shop.example/report/7"


@dataclass(frozen=True)
class Claim:
    """What a machine says it paid, and for what. Amounts are decimal texts."""

    chain: str
    token: str
    tx_hash: str
    payer: str
    pay_to: str
    amount: str = "0.50"
    price: str = "0.50"
    resource: str = RESOURCE
    network: str = ""
    asset: str = ""
    extra: tuple[tuple[str, str], ...] = ()

    def body(self) -> dict[str, Any]:
        """The body of `POST /x402/verify`."""
        return {
            "payment": {
                "txHash": self.tx_hash,
                "chain": self.chain,
                "token": self.token,
                "amount": self.amount,
                "payerAddress": self.payer,
                "payTo": self.pay_to,
            }
            | dict(self.extra),
            "requirements": {
                "scheme": "exact",
                "network": self.network or self.chain,
                "maxAmountRequired": self.price,
                "asset": self.asset or self.token,
                "resource": self.resource,
            },
        }


def ask(client: ApiClient, claim: Claim, *, key: str = "", **changes: Any) -> Answer:
    """Ask whether a claim pays."""
    headers = {"HTTP_IDEMPOTENCY_KEY": key} if key else {}
    body = replace(claim, **changes).body()
    return client.send("POST", "/x402/verify", body, **headers)


def verdict(client: ApiClient, claim: Claim, **changes: Any) -> str:
    """ "valid", or the reason why not."""
    answer = ask(client, claim, **changes)
    assert answer.status == 200, answer.body
    return "valid" if answer.body["valid"] else str(answer.body["reason"])
