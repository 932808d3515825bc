"""Machines that pay, a shop behind the gate of `florin_x402`, the facilitator and a chain, doing anything they may, in any order.

The gate is the published one, and asks the facilitator's API within this process. The node and PostgreSQL are real. Answers get lost,
the facilitator is killed while it sends, strangers carry out what a payer signed, blocks stand still and are replaced, and payers
spend what they signed for. Then everything works again, each payer shows its proof again, and the books are compared with the chain.

An example runs in a savepoint and on a snapshot of the node, so examples start from the same world.
"""

import itertools
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from io import BytesIO
from typing import Any, Final
from wsgiref.util import setup_testing_defaults

from django.db import transaction
from django.utils import timezone
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from florin_x402 import Price
from florin_x402.claims import MemoryClaims
from florin_x402.config import Config
from florin_x402.kept import MemoryAnswers
from florin_x402.transport import Reply, TransportError
from florin_x402.wire import decode, encode
from florin_x402.wsgi import X402Wsgi
from gateway.core.api import rate_limits
from localnet.abi import encode_call
from localnet.anvil import Anvil, FundedAccount
from localnet.authorizations import Authorization as Signed
from localnet.authorizations import authorize
from localnet.funding import payer
from localnet.permit2 import PERMIT2, UPTO_PROXY, permit
from localnet.tokens import balance_of, mint, read, transfer
from settlements.gas.node import GasNode, gas_node
from settlements.gas.upkeep import tend
from settlements.models import GasTransaction
from settlements.states import Purpose
from tests.contract.client import ApiClient
from tests.wallets.factories import make_watcher, read_all
from tests.x402.exact.permits import permit_body
from wallets.chains.base import ChainError
from webhooks.models import Event
from x402.exact.authorizations import LEASE
from x402.exact.facilitator import finish_open
from x402.heads import HEADS
from x402.models import Authorization, X402Payment
from x402.payments.rechecks import PATIENCE, recheck_payments
from x402.payments.transfers import REVERSED, follow_transfers
from x402.states import PaymentStatus

NETWORK: Final = "eip155:8453"
UNITS: Final = 10_000
"""What everything costs: a cent."""

PURSE: Final = 2
"""So many prices the poor payer has."""

PATHS: Final = ("/before", "/after")
"""What is settled before its handler runs, and what after that."""

CONTENT: Final = b"the resource"
MOST_SALES: Final = 4
MOST_FAILURES: Final = 2
"""So often a sale's handler fails: the gate lets a settled payment try no more than three times again."""

_DEEP: Final = 3
_FINAL: Final = 14
_COINS: Final = 10**20
_GAS: Final = 200_000
_numbers = itertools.count(1)


class KilledError(BaseException):
    """The facilitator's process dies."""


@dataclass(frozen=True)
class Trouble:
    """What goes wrong while one request is answered.

    `unreached` and `lost` count the questions that the facilitator does not get, and its answers that the shop does not. `dies` says
    when the facilitator is killed while it sends, `fails` that the handler does, `is_cut` that the payer reads no answer.
    """

    unreached: int = 0
    lost: int = 0
    dies: str = ""
    fails: bool = False
    is_cut: bool = False


NONE: Final = Trouble()
TROUBLES: Final = (
    *(NONE,) * 4,
    *(Trouble(lost=number) for number in (1, 2, 3)),
    *(Trouble(unreached=number) for number in (1, 2, 3)),
    Trouble(unreached=1, lost=1),
    *(Trouble(dies=moment) for moment in ("before sending", "after sending")),
    Trouble(dies="after sending", lost=1),
    Trouble(fails=True),
    Trouble(fails=True, lost=2),
    Trouble(is_cut=True),
)


@dataclass
class Sale:
    """A proof that a payer has for one resource of the shop, and what came of it.

    `is_used` says whether the chain moved its money, `carry_out` moves it as a stranger would. `sold` counts the answers with the
    resource that the shop made for it, `got` those that its payer read.
    """

    path: str
    headers: dict[str, str]
    payer: str
    is_used: Callable[[], bool]
    carry_out: Callable[[], object] | None = None
    is_named: bool = False
    sold: int = 0
    got: int = 0
    failures: int = 0


@dataclass
class Meter:
    """A seller without the gate, who charges a part of a signed maximum by the facilitator's API, as published middlewares do."""

    body: dict[str, Any]
    charged: int
    is_used: Callable[[], bool]
    key: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    is_verified: bool = False
    sold: int = 0

    def settlement(self) -> dict[str, Any]:
        """The body of `/settle`."""
        return self.body | {"paymentRequirements": self.body["paymentRequirements"] | {"amount": str(self.charged)}}


class Line:
    """The gate's way to the facilitator within this process: what its HTTP connections would be."""

    def __init__(self, seller: ApiClient) -> None:
        self._seller = seller
        self.trouble = NONE
        self._unreached = self._lost = 0
        self.dies = ""

    def begin(self, trouble: Trouble) -> None:
        """Have the next questions meet this trouble."""
        self._unreached, self._lost, self.dies = trouble.unreached, trouble.lost, trouble.dies

    def exchange(self, method: str, path: str, *, headers: dict[str, str], body: bytes | None = None) -> Reply:
        """Ask the facilitator. Raises TransportError."""
        if method == "POST" and self._unreached:
            self._unreached -= 1
            raise TransportError("ConnectionRefusedError")
        # Nobody asks so often in a minute.
        rate_limits.NAMESPACE = f"machines-{next(_numbers)}"
        key = headers.get("Idempotency-Key")
        named = {"HTTP_IDEMPOTENCY_KEY": key} if key else {}
        try:
            answer = self._seller.send(method, path, body, **named)
        except KilledError:
            # It is started again later than its lease lasts.
            Authorization.objects.update(taken_until=None)
            raise TransportError("RemoteDisconnected") from None
        if method == "POST" and self._lost:
            self._lost -= 1
            raise TransportError("TimeoutError")
        return Reply(answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.raw)

    def close(self) -> None:
        """There is nothing to close."""


@dataclass
class World:
    """What is there before any example: a node of Base with USDC and Permit2, and a seller with a live key."""

    node: Anvil
    seller: ApiClient
    usdc: str
    pay_to: str
    line: Line = field(init=False)

    def __post_init__(self) -> None:
        self.line = Line(self.seller)

    def mortal(self, real: Callable[[GasNode, bytes], Any]) -> Callable[[GasNode, bytes], Any]:
        """`GasNode.send_first` of a process that dies where the line's trouble says so."""

        def send_first(node: GasNode, raw: bytes) -> Any:
            if self.line.dies == "before sending":
                self.line.dies = ""
                raise KilledError
            answer = real(node, raw)
            if self.line.dies:
                self.line.dies = ""
                raise KilledError
            return answer

        return send_first


which = st.integers(0, 1_000)


class MachineMarket(RuleBasedStateMachine):
    """The world and what may happen in it. At the end nobody is charged and unserved, and nothing was sold unpaid or twice."""

    world: World

    def __init__(self) -> None:
        super().__init__()
        self.node, self.line = self.world.node, self.world.line
        self.savepoint = transaction.atomic()
        self.savepoint.__enter__()
        self.snapshot = self.node.snapshot()
        # A snapshot is gone with its block.
        self.node.mine(_DEEP)
        HEADS.forget()
        self.sales: list[Sale] = []
        self.meters: list[Meter] = []
        self.handled = 0
        self.fails = False
        self.claims, self.answers = MemoryClaims(), MemoryAnswers()
        self.watcher = make_watcher(self.node.url, TOKEN_USDC=self.world.usdc)
        self._open_gate()

    def teardown(self) -> None:
        try:
            self._end_well()
        finally:
            self.gate.gate.close()
            self.watcher.close()
            self.node.roll_back(self.snapshot)
            transaction.set_rollback(True)
            self.savepoint.__exit__(None, None, None)

    @initialize()
    def there_are_a_rich_and_a_poor_payer(self) -> None:
        self.rich, self.poor = payer(self.node), self.node.accounts[2]
        mint(self.node, self.world.usdc, self.poor.address, PURSE * UNITS)
        # The chain is read from before the first payment on.
        read_all(self.watcher)

    def _open_gate(self) -> None:
        config = Config(
            url="http://127.0.0.1/api/v1/x402",
            key=self.world.seller.key or "",
            prices={path: Price("0.01", settle=path[1:]) for path in PATHS},  # type: ignore[arg-type]
            claims=self.claims,
            answers=self.answers,
        )
        self.gate = X402Wsgi(self._handle, config)
        self.gate.gate._facilitator._transport = self.line  # type: ignore[assignment]

    def _handle(self, environ: Any, start_response: Any) -> list[bytes]:
        self.handled += 1
        start_response("500 Failed" if self.fails else "200 OK", [("Content-Type", "text/plain")])
        return [CONTENT]

    # What payers do.

    @precondition(lambda self: len(self.sales) < MOST_SALES)
    @rule(
        path=st.sampled_from(PATHS),
        is_poor=st.booleans(),
        is_named=st.booleans(),
        trouble=st.sampled_from([None, *TROUBLES]),
    )
    def sign(self, path: str, is_poor: bool, is_named: bool, trouble: Trouble | None) -> None:
        """Sign what the shop asks for, and show it at once unless there is no `trouble` at all."""
        account = self.poor if is_poor else self.rich
        _, headers, _ = self._ask(path, {})
        offered = decode(headers["payment-required"])
        (accepted,) = [one for one in offered["accepts"] if one["asset"].lower() == self.world.usdc.lower()]
        told = authorize(self.node, accepted["payTo"], int(accepted["amount"]), account=account)
        proof = {"x402Version": 2, "accepted": accepted, "payload": told.payload()}
        if is_named:
            proof["extensions"] = {"payment-identifier": {"info": {"required": False, "id": secrets.token_urlsafe(24)}}}
        self.sales.append(
            Sale(
                path,
                {"PAYMENT_SIGNATURE": encode(proof)},
                account.address,
                lambda: self._is_spent(told),
                lambda: self.node.send(self.node.accounts[5], to=self.world.usdc, data=told.call()),
                is_named,
            )
        )
        if trouble is not None:
            self._show(self.sales[-1], trouble, path)

    @precondition(lambda self: len(self.sales) < MOST_SALES)
    @rule(path=st.sampled_from(PATHS), is_poor=st.booleans())
    def pay_by_hash(self, path: str, is_poor: bool) -> None:
        account = self.poor if is_poor else self.rich
        data = encode_call("transfer(address,uint256)", self.world.pay_to, UNITS)
        # A transaction that a fork removed must not come again with the same hash: it would be the same payment.
        tx_hash = self.node.send(account, to=self.world.usdc, data=data, gas=_GAS + next(_numbers))
        self.sales.append(
            Sale(path, self._hash_proof(tx_hash, account.address), account.address, lambda: self._is_paid(tx_hash))
        )

    @precondition(lambda self: len(self.meters) < 2)
    @rule(charged=st.sampled_from([0, 1, UNITS // 3, UNITS]), is_poor=st.booleans())
    def sign_a_maximum(self, charged: int, is_poor: bool) -> None:
        account = self.poor if is_poor else self.rich
        named: dict[str, Any] = {"facilitator": self.node.accounts[3].address, "spender": UPTO_PROXY}
        told = permit(self.node, self.world.usdc, self.world.pay_to, UNITS, account=account, **named)
        body = permit_body(told, 8453, scheme="upto")
        self.meters.append(Meter(body, charged, lambda: self._is_noted(account, told.nonce)))

    @precondition(lambda self: self.sales)
    @rule(who=which, trouble=st.sampled_from(TROUBLES), elsewhere=st.sampled_from([False, False, False, True]))
    def show(self, who: int, trouble: Trouble, elsewhere: bool) -> None:
        sale = self.sales[who % len(self.sales)]
        path = next(one for one in PATHS if one != sale.path) if elsewhere else sale.path
        self._show(sale, trouble, path)

    @precondition(lambda self: self.meters)
    @rule(who=which, trouble=st.sampled_from(TROUBLES))
    def charge(self, who: int, trouble: Trouble) -> None:
        self._charge(self.meters[who % len(self.meters)], trouble)

    @precondition(lambda self: self.sales)
    @rule(who=which, path=st.sampled_from(PATHS))
    def show_the_transaction_of_a_signature(self, who: int, path: str) -> None:
        """Whoever reads the chain shows what carried out another's signature as a payment by hash."""
        sale = self.sales[who % len(self.sales)]
        for tx_hash in (
            Authorization.objects.filter(payer=sale.payer).exclude(tx_hash="").values_list("tx_hash", flat=True)
        ):
            status, _, _ = self._ask(path, self._hash_proof(tx_hash, sale.payer))
            assert status != 200, "one payment was sold for a signature, and again for its transaction"

    # What strangers, the chain and time do.

    @precondition(lambda self: any(sale.carry_out for sale in self.sales))
    @rule(who=which)
    def a_stranger_carries_it_out(self, who: int) -> None:
        signed = [sale for sale in self.sales if sale.carry_out]
        carry_out = signed[who % len(signed)].carry_out
        assert carry_out
        carry_out()

    @rule()
    def the_poor_payer_spends_it_all(self) -> None:
        held = balance_of(self.node, self.world.usdc, self.poor.address)
        if held and self.node.automine:
            transfer(self.node, self.poor, self.world.usdc, self.node.accounts[9].address, held)

    @rule(is_on=st.booleans())
    def blocks_come_or_stand_still(self, is_on: bool) -> None:
        self.node.set_automine(is_on)
        if is_on:
            self.node.mine()

    @rule(blocks=st.integers(1, _DEEP))
    def blocks_are_made(self, blocks: int) -> None:
        self.node.mine(blocks)

    @precondition(lambda self: self.node.automine)
    @rule(depth=st.integers(1, _DEEP - 1))
    def blocks_are_replaced(self, depth: int) -> None:
        self.node.reorg(depth)
        HEADS.forget()

    @rule(is_empty=st.booleans())
    def the_gas_account_is_emptied_or_filled(self, is_empty: bool) -> None:
        self._fill(0 if is_empty else _COINS)

    @rule(minutes=st.sampled_from([0, 2]))
    def the_workers_run(self, minutes: int) -> None:
        self._work(timedelta(minutes=minutes))

    @rule()
    def the_shop_is_started_again(self) -> None:
        self.gate.gate.close()
        self._open_gate()

    # How it is done.

    def _show(self, sale: Sale, trouble: Trouble, path: str) -> None:
        self.fails = trouble.fails and sale.failures < MOST_FAILURES
        handled = self.handled
        self.line.begin(trouble)
        status, _, body = self._ask(path, sale.headers)
        self.line.begin(NONE)
        ran = self.handled > handled
        sale.failures += ran and self.fails
        self.fails = False
        if status != 200:
            return
        assert body == CONTENT
        sale.sold += ran
        # Without an id under which its answer is kept, a payer that reads none has no way to ask for it again.
        sale.got += not (trouble.is_cut and sale.is_named)

    def _charge(self, meter: Meter, trouble: Trouble) -> None:
        self.line.begin(trouble)
        try:
            meter.is_verified = meter.is_verified or self._post("verify", meter.body)["isValid"]
            if meter.is_verified and not meter.sold:
                meter.sold += self._post("settle", meter.settlement(), meter.key)["success"]
        except TransportError:
            return
        finally:
            self.line.begin(NONE)

    def _post(self, name: str, body: dict[str, Any], key: str = "") -> Any:
        from gateway.core import json

        headers = {"Idempotency-Key": key} if key else {}
        reply = self.line.exchange("POST", f"/api/v1/x402/{name}", headers=headers, body=json.dumps(body))
        return json.loads(reply.body)

    def _ask(self, path: str, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        """Ask the shop; return the status, the headers by their names in lower case, and the body."""
        environ: dict[str, Any] = {"PATH_INFO": path, "HTTP_HOST": "shop.example"}
        setup_testing_defaults(environ)
        environ |= {"wsgi.input": BytesIO(), **{f"HTTP_{name}": value for name, value in headers.items()}}
        begun: list[Any] = []

        def start_response(status: str, told: Any, exc_info: Any = None) -> Any:
            begun[:] = [int(status[:3]), {name.lower(): value for name, value in told}]

        body = b"".join(self.gate(environ, start_response))
        return begun[0], begun[1], body

    def _hash_proof(self, tx_hash: str, address: str) -> dict[str, str]:
        told = {"txHash": tx_hash, "chain": "base", "token": "USDC", "amount": "0.01"}
        return {"X_PAYMENT": encode(told | {"payerAddress": address, "payTo": self.world.pay_to})}

    def _is_spent(self, told: Signed) -> bool:
        nonce = bytes.fromhex(told.nonce[2:])
        return bool(int(read(self.node, self.world.usdc, "authorizationState(address,bytes32)", told.payer, nonce), 16))

    def _is_noted(self, account: FundedAccount, nonce: int) -> bool:
        words = int(read(self.node, PERMIT2, "nonceBitmap(address,uint256)", account.address, nonce >> 8), 16)
        return bool(words >> (nonce & 0xFF) & 1)

    def _is_paid(self, tx_hash: str) -> bool:
        receipt = self.node.rpc("eth_getTransactionReceipt", tx_hash)
        return receipt is not None and receipt["status"] == "0x1"

    def _fill(self, wei: int) -> None:
        self.node.rpc("anvil_setBalance", self.node.accounts[3].address, hex(wei))

    def _work(self, later: timedelta) -> None:
        """Run what the workers run, as if so much time had passed."""
        now = timezone.now() + later
        with suppress(ChainError), gas_node("base") as node:
            tend("base", node=node, now=now)
        self.node.await_blocks()
        finish_open(clock=lambda: now + 2 * LEASE)
        # A block may be replaced while it is read; the next pass reads the new one.
        with suppress(ChainError):
            read_all(self.watcher)
        follow_transfers(now=timezone.now())
        recheck_payments(now=now)

    def _end_well(self) -> None:
        """Let everything work again and each payer go on; then compare what was sold with what the chain moved."""
        self.node.set_automine(True)
        self._fill(_COINS)
        for _ in range(4):
            self.node.mine(_DEEP)
            HEADS.forget()
            self._work(timedelta(minutes=2))
            for sale in self.sales:
                if not sale.got:
                    self._show(sale, NONE, sale.path)
                    self._show(sale, NONE, next(one for one in PATHS if one != sale.path))
            for meter in self.meters:
                self._charge(meter, NONE)
        self.node.mine(_FINAL)
        self._work(2 * PATIENCE)
        self._compare()

    def _compare(self) -> None:
        moved = 0
        for sale in self.sales:
            used = sale.is_used()
            moved += UNITS * used
            assert sale.sold <= 1, "one payment was sold twice"
            assert not used or sale.got, "a payer was charged and not served"
            assert used or not sale.sold or self._is_told_of_a_reversal(sale.payer), "the shop served unpaid"
        for meter in self.meters:
            used = meter.is_used()
            moved += meter.charged * used
            assert not used or meter.sold, "a payer of a maximum was charged and not served"
            is_free = not meter.charged or self._is_told_of_a_reversal(
                meter.body["paymentPayload"]["payload"]["permit2Authorization"]["from"]
            )
            assert used or not meter.sold or is_free, "the shop served a part of a maximum unpaid"
        held = balance_of(self.node, self.world.usdc, self.world.pay_to)
        counted = X402Payment.objects.filter(status=PaymentStatus.VERIFIED)
        assert held == moved == sum(int(one.units) for one in counted), "the books differ from the chain"
        sent = GasTransaction.objects.filter(purpose=Purpose.X402).values_list("reference", flat=True)
        assert len(sent) == len(set(sent)), "one signature was sent by two transactions"

    def _is_told_of_a_reversal(self, address: str) -> bool:
        """Whether the seller heard that the chain took a payment of this payer back."""
        taken = X402Payment.objects.filter(payer=address, status=PaymentStatus.REVERSED)
        told = Event.objects.filter(type=REVERSED).values_list("subject_id", flat=True)
        return any(one.public_id in told for one in taken)


def market_in(world: World) -> type[MachineMarket]:
    """Return the market of a world."""
    return type("Market", (MachineMarket,), {"world": world})
