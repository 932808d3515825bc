"""Payers' transactions on Solana, as the standard's clients sign them, and as they do not."""

import base64
import secrets
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import base58
from django.utils import timezone
from solders.compute_budget import set_compute_unit_limit, set_compute_unit_price
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import MessageV0, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from accounts.audit.actors import Actor
from accounts.states import Mode
from localnet.solana.node import USDC, SolanaNode
from localnet.solana.programs import TOKEN, token_account
from tests.contract.client import ApiClient, client_of
from tests.factories import make_merchant, make_user
from wallets.models import ChainCursor
from wallets.receiving.service import set_machine_wallet
from wallets.selectors import forget
from x402.models import X402Payment

RESOURCE: Final = "https://shop.example/report/7"
NETWORK: Final = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
MEMO: Final = Pubkey.from_string("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")
LIGHTHOUSE: Final = Pubkey.from_string("L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95")
UNITS: Final = 10_000


@dataclass
class Draft:
    """A transfer that its payer is about to sign. What a test changes is what no honest client would write."""

    payer: Keypair
    fee_payer: str
    recipient: str
    blockhash: str
    units: int = UNITS
    mint: str = USDC
    limit: int = 20_000
    price: int = 1
    decimals: int = 6
    extra: Sequence[Instruction] = ()
    replaced: dict[int, Instruction] = field(default_factory=dict)
    authority: Pubkey | None = None
    program: Pubkey = TOKEN
    steps: Sequence[Instruction] | None = None

    def instructions(self) -> list[Instruction]:
        """The limit, the price, the transfer, and whatever else; or `steps`."""
        if self.steps is not None:
            return list(self.steps)
        steps = [set_compute_unit_limit(self.limit), set_compute_unit_price(self.price), self.transfer(), *self.extra]
        for place, step in self.replaced.items():
            steps[place] = step
        return steps

    def transfer(self) -> Instruction:
        """Token accounts of payer and recipient, approved by the payer."""
        payer = self.payer.pubkey()
        mint = Pubkey.from_string(self.mint)
        to = token_account(Pubkey.from_string(self.recipient), mint, self.program)
        accounts = [
            AccountMeta(token_account(payer, mint, self.program), False, True),
            AccountMeta(mint, False, False),
            AccountMeta(to, False, True),
            AccountMeta(self.authority or payer, True, False),
        ]
        data = bytes([12]) + self.units.to_bytes(8, "little") + bytes([self.decimals])
        return Instruction(self.program, data, accounts)

    def message(self) -> MessageV0:
        """What is signed."""
        fee_payer = Pubkey.from_string(self.fee_payer)
        recent = Hash.from_string(self.blockhash)
        return MessageV0.try_compile(fee_payer, self.instructions(), [], recent)

    def signed(self) -> bytes:
        """The transaction with the payer's signature, and room for ours."""
        message = self.message()
        payer = self.payer.sign_message(to_bytes_versioned(message))
        keys = list(message.account_keys)[: message.header.num_required_signatures]
        signatures = [payer if key == self.payer.pubkey() else Signature.default() for key in keys]
        return bytes(VersionedTransaction.populate(message, signatures))


@dataclass
class Shop:
    """A merchant whose machines pay on Solana: its wallet, the account of ours that pays the network, a payer with USDC."""

    node: SolanaNode
    wallet: str
    fee_payer: str
    payer: Keypair

    def draft(self, **changes: Any) -> Draft:
        """An honest payer's transfer, with a memo that makes it unlike all others."""
        memo = Instruction(MEMO, secrets.token_hex(16).encode(), [])
        values: dict[str, Any] = {
            "payer": self.payer,
            "fee_payer": self.fee_payer,
            "recipient": self.wallet,
            "blockhash": self.blockhash(),
            "extra": [memo],
        }
        return Draft(**(values | changes))

    def blockhash(self) -> str:
        """A recent one."""
        recent = self.node.rpc("getLatestBlockhash", {"commitment": "confirmed"})
        found: str = recent["value"]["blockhash"]
        return found

    def body(self, signed: bytes, *, version: int = 2, **changes: Any) -> dict[str, Any]:
        """The body of `/verify` and `/settle`; `changes` are of the requirements."""
        requirements: dict[str, Any] = {
            "scheme": "exact",
            "network": NETWORK,
            "amount": str(UNITS),
            "payTo": self.wallet,
            "maxTimeoutSeconds": 60,
            "asset": USDC,
            "extra": {"feePayer": self.fee_payer},
        } | changes
        payload = {"transaction": base64.b64encode(signed).decode()}
        if version == 1:
            return _first(requirements, payload)
        return {
            "x402Version": 2,
            "paymentPayload": {
                "x402Version": 2,
                "accepted": requirements,
                "resource": {"url": RESOURCE},
                "payload": payload,
            },
            "paymentRequirements": requirements,
        }


def _first(requirements: dict[str, Any], payload: dict[str, str]) -> dict[str, Any]:
    wanted = requirements | {
        "network": "solana",
        "maxAmountRequired": requirements["amount"],
        "resource": RESOURCE,
        "description": "",
    }
    del wanted["amount"]
    told = {"x402Version": 1, "scheme": "exact", "network": "solana"}
    return {"x402Version": 1, "paymentPayload": told | {"payload": payload}, "paymentRequirements": wanted}


@contextmanager
def ticking(node: SolanaNode) -> Iterator[None]:
    """Let the network's slots go by for as long as the block lasts."""
    ended = threading.Event()

    def tick() -> None:
        while not ended.wait(0.02):
            node.advance()

    clock = threading.Thread(target=tick)
    clock.start()
    try:
        yield
    finally:
        ended.set()
        clock.join()


def connect_solana(settings: Any, node: SolanaNode) -> Shop:
    """Solana as the only chain that can be asked; an account of ours with SOL; a payer with USDC and none."""
    ours, payer, wallet = Keypair(), Keypair(), str(Keypair().pubkey())
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": node.url}
    settings.GAS_KEYS = []
    settings.GAS_KEYS_SOLANA = [base58.b58encode(bytes(ours)).decode()]
    ChainCursor.objects.all().delete()
    forget()
    node.airdrop(str(ours.pubkey()))
    node.fund(str(payer.pubkey()), 10**9)
    # So that its token account exists.
    node.fund(wallet, 1)
    return Shop(node, wallet, str(ours.pubkey()), payer)


def open_seller(shop: Shop) -> ApiClient:
    """Make a merchant whose machines pay at a shop's wallet; return a live key."""
    merchant = make_merchant()
    set_machine_wallet(merchant, chain="solana", address=shop.wallet, actor=Actor(make_user()), now=timezone.now())
    forget()
    return client_of(merchant, Mode.LIVE)


def key_of(shop: Shop) -> str:
    """The payer's key, as wallets export it."""
    return base58.b58encode(bytes(shop.payer)).decode()


def check_paid(shop: Shop) -> None:
    """Check that the money came, once, and is in the books. The wallet had one unit before."""
    assert shop.node.balance(shop.wallet) == UNITS + 1
    payment = X402Payment.objects.get()
    assert (payment.units, payment.payer) == (UNITS, str(shop.payer.pubkey()))
