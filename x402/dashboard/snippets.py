"""Examples for resource servers: three ways to ask for money, with this installation's address."""

import secrets
from typing import Final, NamedTuple

from django.conf import settings


class Snippet(NamedTuple):
    """A title, and the code."""

    label: str
    code: str


_CONFIG: Final = """\
curl {api}/config \\
  -H "Authorization: Bearer $FLORIN_KEY"
"""

_VERIFY: Final = """\
curl {api}/verify \\
  -H "Authorization: Bearer $FLORIN_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{{
    "payment": {{
      "txHash": "{tx_hash}",
      "chain": "{chain}", "token": "{token}", "amount": "0.01",
      "payerAddress": "{payer}",
      "payTo": "{pay_to}"
    }},
    "requirements": {{
      "scheme": "exact", "network": "{chain}", "maxAmountRequired": "0.01",
      "asset": "{token}", "resource": "https://api.example.com/report"
    }}
  }}'
"""

_MIDDLEWARE: Final = """\
# The package florin-x402: clients/python in Florin's repository.
import os

from florin_x402 import Config
from florin_x402.asgi import X402Asgi  # for Django and WSGI too

app = X402Asgi(
    app,
    Config(
        url="{api}",
        key=os.environ["FLORIN_KEY"],
        prices={{"/report": "0.01"}},
    ),
)
"""

EXAMPLE_CHAIN: Final = "base"
_PAYER: Final = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
_NOWHERE: Final = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


def verify_call(pay_to: str | None) -> str:
    """Return the call that verifies a payment on Base; with a test key and a test address it works unchanged."""
    return _VERIFY.format(
        api=_api(),
        # A random hash: a payment counts once, also in test mode.
        tx_hash=f"0x{secrets.token_hex(32)}",
        chain=EXAMPLE_CHAIN,
        token="USDC",  # noqa: S106 - a token of money, no secret
        payer=_PAYER,
        pay_to=pay_to or _NOWHERE,
    )


def snippets(pay_to: str | None) -> tuple[Snippet, ...]:
    """Return all examples; `pay_to` is where machines pay on Base."""
    return (
        Snippet("Where to pay", _CONFIG.format(api=_api())),
        Snippet("Verify a payment", verify_call(pay_to)),
        Snippet("Python middleware", _MIDDLEWARE.format(api=_api())),
    )


def _api() -> str:
    return f"{settings.BASE_URL}/api/v1/x402"
