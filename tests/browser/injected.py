"""Wallets that a browser extension would inject, beside the one for EVM in conftest."""

import base64
import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from eth_account import Account
from eth_keys.datatypes import PrivateKey
from playwright.sync_api import Page
from solders.keypair import Keypair
from solders.transaction import Transaction, VersionedTransaction
from tonsdk.utils import Address

from localnet.anvil import Anvil, FundedAccount
from localnet.solana.node import SolanaNode
from localnet.tokens import deploy_code
from localnet.ton.node import TonNode
from localnet.tron.addresses import to_base58
from tests.browser.conftest import StubWallet, WalletRefusalError
from tests.wallets.tonconnect import carry_out

ASK_PYTHON = """
  const ask = async (method, ...params) => {
    const answer = JSON.parse(await window.__wallet(JSON.stringify([method, params])));
    // Some wallets throw plain text.
    if (answer.error?.code === 0) throw answer.error.message;
    if (answer.error) throw Object.assign(new Error(answer.error.message), answer.error);
    return answer.result;
  };
"""

# As @wallet-standard/wallet registers one: at once, and again for whoever comes later.
REGISTER_SOLANA_WALLET = """
(() => {
  ASK
  const chains = CHAINS;
  const connect = async () => {
    const features = ["solana:signAndSendTransaction"];
    const accounts = (await ask("connect")).map((address) => ({
      address, publicKey: new Uint8Array(32), chains, features,
    }));
    return { accounts };
  };
  const signAndSendTransaction = async (...orders) => {
    const sent = [];
    for (const { account, chain, transaction } of orders) {
      if (!(transaction instanceof Uint8Array)) throw new TypeError("no bytes");
      const signature = await ask("send", account.address, chain,
        btoa(String.fromCharCode(...transaction)));
      sent.push({ signature: new TextEncoder().encode(signature) });
    }
    return sent;
  };
  const signTransaction = async (...orders) => {
    const signed = [];
    for (const { account, chain, transaction } of orders) {
      const text = await ask("sign", account.address, chain, btoa(String.fromCharCode(...transaction)));
      signed.push({ signedTransaction: Uint8Array.from(atob(text), (one) => one.charCodeAt(0)) });
    }
    return signed;
  };
  const wallet = Object.freeze({
    version: "1.0.0", name: NAME, icon: "data:,", chains, accounts: [],
    features: {
      "standard:connect": { version: "1.0.0", connect },
      "solana:signTransaction": {
        version: "1.0.0", supportedTransactionVersions: ["legacy", 0], signTransaction,
      },
      "solana:signAndSendTransaction": {
        version: "1.0.0", supportedTransactionVersions: ["legacy", 0], signAndSendTransaction,
      },
    },
  });
  const callback = ({ register }) => register(wallet);
  dispatchEvent(new CustomEvent("wallet-standard:register-wallet", { detail: callback }));
  addEventListener("wallet-standard:app-ready", ({ detail }) => callback(detail));
})();
"""

# As TronLink is seen by a page: TIP-1193, announced by TIP-6963. Its tronWeb signs and asks no node.
ANNOUNCE_TRON_WALLET = """
(() => {
  ASK
  const trx = { sign: (transaction) => ask("sign", transaction) };
  const provider = {
    isTronLink: true,
    tronWeb: false,
    async request({ method, params }) {
      const answer = await ask(method, ...(params ?? []));
      if (method.endsWith("_requestAccounts")) {
        provider.tronWeb = { trx, defaultAddress: { base58: ADDRESS } };
      }
      return answer;
    },
  };
  const info = Object.freeze({ uuid: NAME, name: NAME, icon: "data:,", rdns: "test.wallet" });
  const detail = Object.freeze({ info, provider });
  const announce = () => dispatchEvent(new CustomEvent("TIP6963:announceProvider", { detail }));
  if (ANNOUNCED) {
    addEventListener("TIP6963:requestProvider", announce);
    announce();
  } else {
    window.tronLink = provider;
  }
})();
"""


@dataclass
class StubSolanaWallet(StubWallet):
    """A wallet of the Wallet Standard, which signs with a key and sends to a node.

    `chain_id` is not used. Calls are `connect`, and `send` or `sign` with address, chain and transaction.
    """

    chains: tuple[str, ...] = ("solana:mainnet", "solana:devnet", "solana:localnet")

    def install(self, page: Page) -> None:
        """Register the wallet on every page loaded from now on."""
        page.expose_function("__wallet", self._call)
        script = REGISTER_SOLANA_WALLET.replace("ASK", ASK_PYTHON)
        script = script.replace("CHAINS", json.dumps(self.chains))
        page.add_init_script(script.replace("NAME", json.dumps(self.name)))

    def _result(self, method: str, params: list[Any]) -> Any:
        return self.answer(method, params)


def solana_buyer(node: SolanaNode, key: Keypair) -> Any:
    """The owner of a key who says yes to everything."""

    def answer(method: str, params: list[Any]) -> Any:
        if method == "connect":
            return [str(key.pubkey())]
        unsigned = Transaction.from_bytes(base64.b64decode(params[2]))
        if method == "sign":
            # Beside others, in its own place.
            unsigned.partial_sign([key], unsigned.message.recent_blockhash)
            return base64.b64encode(bytes(unsigned)).decode()
        signed = VersionedTransaction(unsigned.message, [key])
        signature = node.submit(signed)
        node.advance()
        return signature

    return answer


@dataclass
class StubTronWallet(StubWallet):
    """A wallet of TIP-1193. Calls are those of `request`, and `sign` with the transaction.

    One that is not announced is `window.tronLink`, or in the object named `inside`.
    """

    is_announced: bool = True
    inside: str = ""

    def install(self, page: Page) -> None:
        """Announce the wallet on every page loaded from now on, or put it where older ones are found."""
        page.expose_function("__wallet", self._call)
        script = ANNOUNCE_TRON_WALLET.replace("ASK", ASK_PYTHON)
        script = script.replace("ANNOUNCED", json.dumps(self.is_announced))
        script = script.replace("ADDRESS", json.dumps(self.account))
        if self.inside:
            script = script.replace("window.tronLink = provider", f"window.{self.inside} = {{ tronLink: provider }}")
        page.add_init_script(script.replace("NAME", json.dumps(self.name)))


def tron_buyer(account: FundedAccount) -> Any:
    """The owner of a key who signs whatever is consistent, as tronWeb does."""

    def answer(method: str, params: list[Any]) -> Any:
        if method != "sign":
            raise WalletRefusalError(4200, f"{method} is not supported")
        [transaction] = params
        tx_id = hashlib.sha256(bytes.fromhex(transaction["raw_data_hex"])).digest()
        assert transaction["txID"] == tx_id.hex()
        key = PrivateKey(bytes.fromhex(account.key.removeprefix("0x")))
        signature = key.sign_msg_hash(tx_id).to_bytes().hex()
        return transaction | {"signature": [signature]}

    return answer


def tron_wallet(account: FundedAccount, chain_id: int, **options: Any) -> StubTronWallet:
    """TronLink with an account of the local node."""
    address = to_base58(account.address)
    return StubTronWallet(address, chain_id, tron_buyer(account), **options)


# Makes the calls in its input, all or none: 32 bytes with a contract's address, then inputs of 68 bytes each. The wallet's own
# account runs it (EIP-7702).
#   loop: if i == calldatasize: stop; calldatacopy(0, i, 68); if not call(gas, calldataload(0), 0, 0, 68, 0, 0): revert; i += 68
_CALL_ALL = bytes.fromhex(
    "60205b803614602857604481600037600060006044600060006000355af115602a576044016002565b005b60006000fd"
)
_CALL_BYTES = 68
_CALL_GAS = 70_000


@dataclass
class CallsWallet(StubWallet):
    """A wallet that signs for its account and sends to a node: single transactions, and bundles of token transfers (EIP-5792)
    that its account makes in one transaction (EIP-7702), as MetaMask's do. `sent` are the raw transactions.
    """

    node: Anvil | None = None
    key: str = ""
    bundles: bool = True
    sent: list[str] = field(default_factory=list)

    def _result(self, method: str, params: list[Any]) -> Any:
        match method:
            case "wallet_sendCalls" if self.bundles:
                return {"id": self._send_all(params[0])}
            case "wallet_sendCalls":
                raise WalletRefusalError(4200, "not supported")
            case "eth_sendTransaction":
                return self._send({"to": params[0]["to"], "data": params[0]["data"], "gas": _CALL_GAS})
        return super()._result(method, params)

    def _send_all(self, bundle: dict[str, Any]) -> str:
        assert (bundle["from"], bundle["atomicRequired"]) == (self.account, True)
        calls = bundle["calls"]
        [contract] = {call["to"] for call in calls}
        inputs = [bytes.fromhex(call["data"][2:]) for call in calls]
        assert {len(data) for data in inputs} == {_CALL_BYTES}
        assert self.node is not None
        code = deploy_code(self.node, _returning(_CALL_ALL))
        # The transaction takes the account's next number, and what makes it a contract the one after.
        grant = {"chainId": self.node.chain_id, "address": code, "nonce": self._number() + 1}
        data = bytes.fromhex(contract[2:]).rjust(32, b"\0") + b"".join(inputs)
        return self._send(
            {
                "to": self.account,
                "data": data,
                "gas": 200_000 + _CALL_GAS * len(calls),
                "authorizationList": [Account.sign_authorization(grant, self.key)],
            }
        )

    def _send(self, fields: dict[str, Any]) -> str:
        assert self.node is not None
        fee = 2 * int(self.node.block()["baseFeePerGas"], 16)
        known = {"chainId": self.node.chain_id, "nonce": self._number(), "value": 0}
        known |= {"maxFeePerGas": fee, "maxPriorityFeePerGas": 0}
        raw = Account.sign_transaction(known | fields, self.key).raw_transaction.to_0x_hex()
        sent: str = self.node.rpc("eth_sendRawTransaction", raw)
        assert self.node.receipt(sent)["status"] == "0x1"
        self.sent.append(raw)
        return sent

    def _number(self) -> int:
        assert self.node is not None
        return int(self.node.rpc("eth_getTransactionCount", self.account, "pending"), 16)


def _returning(code: bytes) -> bytes:
    """Creation code that leaves this code: codecopy(0, 12, n); return(0, n)."""
    return bytes.fromhex(f"60{len(code):02x}600c60003960{len(code):02x}6000f3") + code


# As a wallet of TON Connect leaves its bridge in the window.
LEAVE_TON_BRIDGE = """
(() => {
  ASK
  window.testWallet = { tonconnect: {
    protocolVersion: 2,
    walletInfo: { name: NAME },
    // What its newest account takes, as wallets say before they are connected.
    deviceInfo: { features: ["SendTransaction", { name: "SendTransaction", maxMessages: 255 }] },
    connect: (version, { manifestUrl }) => ask("connect", version, manifestUrl),
    send: ({ method, params }) => ask(method, ...params),
  } };
})();
"""


class StubTonWallet(StubWallet):
    """A wallet of TON Connect. Calls are `connect` with the manifest's address, and `sendTransaction` with the request."""

    def install(self, page: Page) -> None:
        """Leave the bridge on every page loaded from now on."""
        page.expose_function("__wallet", self._call)
        page.add_init_script(LEAVE_TON_BRIDGE.replace("ASK", ASK_PYTHON).replace("NAME", json.dumps(self.name)))

    def _result(self, method: str, params: list[Any]) -> Any:
        return self.answer(method, params)


def ton_buyer(node: TonNode, *, declines: bool = True) -> Any:
    """The owner of the node's payer: declines the first request if `declines`, and says yes to all others."""
    raw = Address(node.payer.address).to_string(is_user_friendly=False)
    declined: list[Any] = [] if declines else [None]

    def answer(method: str, params: list[Any]) -> Any:
        if method == "connect":
            return {"event": "connect", "id": 1, "payload": {"items": [{"name": "ton_addr", "address": raw}]}}
        if not declined:
            declined.append(params)
            return {"id": "1", "error": {"code": 300, "message": "User declined the transaction"}}
        carry_out(node, json.loads(params[0]))
        return {"id": "2", "result": "te6ccg"}

    return answer


def forget(complaints: list[str], status: str) -> None:
    """Take out that Chromium complains of the status of an answer."""
    found = [words for words in complaints if f"status of {status}" in words]
    assert len(found) == 1
    complaints.remove(found[0])
