"""Sells a tool by PyPI x402's wrapper for MCP servers, and buys it by its wrapper for MCP clients. Runs with var/x402's Python.

FACILITATOR_URL, FACILITATOR_KEY, PAY_TO and NETWORK (CAIP-2) are the merchant's, PAYER_KEY the payer's. The argument says how many copies of
one payment are shown at once. Both wrappers are those that need no MCP library: what they say goes from one to the other as JSON.
Prints what was bought, what a repeat of it got, and what the copies got.
"""

import json
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import httpx
from eth_account import Account

from x402 import ResourceConfig, x402ClientSync
from x402.http import FacilitatorConfig, HTTPFacilitatorClientSync
from x402.http.facilitator_client_base import CreateHeadersAuthProvider
from x402.mcp import SyncPaymentWrapperConfig, create_payment_wrapper_sync, wrap_mcp_client_with_payment_sync
from x402.mcp.utils import attach_payment_to_meta, convert_mcp_result, extract_payment_required_from_result
from x402.mechanisms.evm import EthAccountSigner
from x402.mechanisms.evm.exact import register_exact_evm_client, register_exact_evm_server
from x402.server import x402ResourceServerSync

PAGE = {"report": "seven"}
CALL = {"name": "report", "arguments": {"port": "Hamburg"}}
PATIENCE = 120


class Wire:
    """Carries a client's calls to a tool, and keeps them."""

    def __init__(self, tool: Any) -> None:
        self._tool = tool
        self.sent: list[dict[str, Any]] = []

    def call_tool(self, params: dict[str, Any], **_options: Any) -> Any:
        """Call the tool, as an MCP client's object does."""
        self.sent.append(params)
        sent = json.loads(json.dumps(params))
        told = self._tool(sent["arguments"], {"toolName": sent["name"], "_meta": sent.get("_meta", {})})
        answer = {
            "content": told.content,
            "isError": told.is_error,
            "_meta": told.meta,
            "structuredContent": told.structured_content,
        }
        return SimpleNamespace(**json.loads(json.dumps(answer)))


class Till:
    """The tool: counts who reached it, and keeps them until `together` is full."""

    def __init__(self) -> None:
        self.ran = 0
        self.together = threading.Barrier(1)
        self._lock = threading.Lock()

    def report(self, _arguments: dict[str, Any], _context: Any) -> dict[str, Any]:
        """What is sold."""
        with self._lock:
            self.ran += 1
        self.together.wait(PATIENCE)
        return {"content": [{"type": "text", "text": json.dumps(PAGE)}]}


def sold(till: Till) -> Wire:
    """The tool behind the wrapper."""
    key = {"Authorization": f"Bearer {os.environ['FACILITATOR_KEY']}"}
    headers = dict.fromkeys(("verify", "settle", "supported"), key)
    config = FacilitatorConfig(
        url=os.environ["FACILITATOR_URL"],
        auth_provider=CreateHeadersAuthProvider(lambda: headers),
        http_client=httpx.Client(timeout=60),
    )
    server = register_exact_evm_server(x402ResourceServerSync(HTTPFacilitatorClientSync(config)))
    server.initialize()
    wanted = ResourceConfig(scheme="exact", pay_to=os.environ["PAY_TO"], price="$0.01", network=os.environ["NETWORK"])
    accepts = server.build_payment_requirements(wanted)
    return Wire(create_payment_wrapper_sync(server, SyncPaymentWrapperConfig(accepts=accepts))(till.report))


def text_of(answer: Any) -> str:
    """What a result says; "" if it is an error."""
    return "" if answer.isError else str(answer.content[0]["text"])


def copied(wire: Wire, till: Till, payments: x402ClientSync, copies: int) -> list[str]:
    """What copies of a new payment get at once, none of which is settled before all were verified."""
    required = extract_payment_required_from_result(convert_mcp_result(wire.call_tool(dict(CALL))))
    paid = attach_payment_to_meta(dict(CALL), payments.create_payment_payload(required))
    till.together = threading.Barrier(copies)
    with ThreadPoolExecutor(copies) as threads:
        return [text_of(answer) for answer in threads.map(lambda _: wire.call_tool(paid), range(copies))]


def main() -> None:
    """Sell, buy, and show the payment again."""
    till = Till()
    wire, payments = sold(till), x402ClientSync()
    register_exact_evm_client(payments, EthAccountSigner(Account.from_key(os.environ["PAYER_KEY"])))
    bought = wrap_mcp_client_with_payment_sync(wire, payments).call_tool(CALL["name"], CALL["arguments"])
    again = wire.call_tool(wire.sent[-1])
    found = {
        "bought": json.loads(bought.content[0]["text"]),
        "transaction": bought.payment_response.transaction,
        "again": text_of(again),
        "copies": copied(wire, till, payments, int(sys.argv[1])),
        "ran": till.ran,
    }
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
