"""What `signing.js` asks a wallet for: several calls in one prompt, one after the other, and typed data."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import StubWallet, WalletRefusalError
from tests.checkouts.factories import make_page_checkout

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("chains_are_well")]

PAYER = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"
BASE, POLYGON = 8453, 137
ON_BASE = {"chainId": hex(BASE)}
CALLS = [{"to": "0x" + f"{number}" * 40, "data": f"0x0{number}"} for number in (1, 2, 3)]
ASK = """async ([name, ...parts]) => {
  const { findWallets } = await import("/static/js/discovery.js");
  const signing = await import("/static/js/signing.js");
  const [{ provider }] = findWallets("evm", () => {}).values();
  return signing[name](provider, ...parts).catch((error) => signing.reasonOf(error));
}"""

Ask = Callable[..., Any]


@pytest.fixture
def ask(page: Page, live_server: Any) -> Ask:
    """Call a function of `signing.js` with a wallet, on a page under our policy."""

    def ask_one(wallet: StubWallet, name: str, *parts: Any) -> Any:
        wallet.install(page)
        page.goto(f"{live_server.url}/c/{make_page_checkout().code}")
        return page.evaluate(ASK, [name, *parts])

    return ask_one


def wallet_that(refused: dict[str, int]) -> StubWallet:
    """A wallet that numbers what it sends, and refuses some methods with a code."""
    hashes = iter(f"0x{number:064x}" for number in range(1, 9))

    def answer(method: str, params: list[Any]) -> Any:
        if code := refused.get(method):
            raise WalletRefusalError(code, "no")
        return next(hashes) if method == "eth_sendTransaction" else {"id": "0xb1"}

    return StubWallet(PAYER, POLYGON, answer)


def test_several_calls_are_one_prompt_that_does_all_or_none(ask: Ask) -> None:
    wallet = wallet_that({})
    assert ask(wallet, "sendCalls", ON_BASE, CALLS) == []
    [[bundle]] = wallet.named("wallet_sendCalls")
    assert bundle == {
        "version": "2.0.0",
        "from": PAYER,
        "chainId": hex(BASE),
        "atomicRequired": True,
        "calls": [call | {"value": "0x0"} for call in CALLS],
    }
    assert wallet.named("eth_sendTransaction") == []
    assert wallet.chain_id == BASE


@pytest.mark.parametrize("code", [4200, -32601, 5740, 5760])
def test_a_wallet_that_cannot_bundle_is_asked_for_one_after_the_other(code: int, ask: Ask) -> None:
    wallet = wallet_that({"wallet_sendCalls": code})
    assert ask(wallet, "sendCalls", ON_BASE, CALLS) == [f"0x{number:064x}" for number in (1, 2, 3)]
    sent = [params[0] for params in wallet.named("eth_sendTransaction")]
    assert sent == [call | {"from": PAYER, "value": "0x0", "chainId": hex(BASE)} for call in CALLS]


# What a wallet of TON Connect tells with its account, and how many messages it is asked for at once.
TOLD: list[tuple[Any, int]] = [
    (None, 4),
    ({}, 4),
    ({"features": "SendTransaction"}, 4),
    ({"features": ["SendTransaction", None]}, 4),
    ({"features": [{"name": "SendTransaction", "maxMessages": "many"}]}, 4),
    ({"features": ["SendTransaction", {"name": "SendTransaction", "maxMessages": 255}]}, 255),
    ({"features": [{"name": "SignData", "maxMessages": 9}, {"name": "SendTransaction", "maxMessages": 2}]}, 2),
    ({"features": [{"name": "SendTransaction", "maxMessages": 0}]}, 1),
    ({"features": [{"name": "SendTransaction", "maxMessages": n} for n in (9, 3)]}, 3),
]
ASK_ON_TON = """async (devices) => {
  const { sendOnTon } = await import("/static/js/signing.js");
  const asked = [];
  for (const device of devices) {
    const payload = { items: [{ name: "ton_addr", address: "0:ab" }], ...(device && { device }) };
    const deviceInfo = { features: [{ name: "SendTransaction", maxMessages: 99 }] };
    const bridge = { deviceInfo, connect: async () => ({ payload }), send: async () => ({}) };
    await sendOnTon(bridge, "", (account, most) => asked.push(most) && {});
  }
  return asked;
}"""


def test_a_wallet_on_ton_is_asked_for_as_many_messages_as_it_takes_and_for_four_if_it_does_not_tell(
    page: Page, live_server: Any
) -> None:
    page.goto(f"{live_server.url}/c/{make_page_checkout().code}")
    assert page.evaluate(ASK_ON_TON, [device for device, _ in TOLD]) == [most for _, most in TOLD]


def test_only_the_account_that_is_asked_for_sends(ask: Ask) -> None:
    wallet = wallet_that({})
    assert ask(wallet, "sendCalls", ON_BASE | {"account": PAYER.lower()}, CALLS) == []
    [[bundle]] = wallet.named("wallet_sendCalls")
    assert bundle["from"] == PAYER


def test_another_account_sends_nothing(ask: Ask) -> None:
    wallet = wallet_that({})
    assert ask(wallet, "sendCalls", ON_BASE | {"account": "0x" + "ab" * 20}, CALLS) == "other"
    assert [method for method, _ in wallet.calls] == ["eth_requestAccounts"]


def test_a_declined_bundle_is_not_asked_for_in_parts(ask: Ask) -> None:
    wallet = wallet_that({"wallet_sendCalls": 4001})
    assert ask(wallet, "sendCalls", ON_BASE, CALLS) == "rejected"
    assert wallet.named("eth_sendTransaction") == []


def test_typed_data_is_signed_on_its_chain_by_the_account_that_the_wallet_shares(ask: Ask) -> None:
    wallet = wallet_that({})
    wallet.answer = lambda method, params: "0x5161"
    typed = {"domain": {"chainId": BASE}, "primaryType": "Nothing", "types": {}, "message": {}}
    assert ask(wallet, "signTypedData", ON_BASE, typed) == {"from": PAYER, "signature": "0x5161"}
    [[signer, text]] = wallet.named("eth_signTypedData_v4")
    assert (signer, json.loads(text)) == (PAYER, typed)
    assert wallet.chain_id == BASE
