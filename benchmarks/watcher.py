"""The watcher: decoding logs against web3, ingesting and crediting a large range, and what a block costs as the number
of open checkouts grows."""

import hashlib
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from django.db import connection
from django.utils import timezone

from benchmarks import stack
from benchmarks.report import Claim, Report, Series, ratio
from demo.nodes.factory import prepare_chain
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import mint, token_address, transfer_many
from wallets.chains.family import TokenSpec

if TYPE_CHECKING:
    from wallets.watchers.blocks import Watcher

FEW, MANY = 1_000, 100_000
BATCH = 500
CREDITS = 10_000
DECODED = 1_000
BLOCKS = 15
PAID_PER_BLOCK, LOGS_PER_BLOCK = 10, 200
UNITS = 49_000_000

_FILL = """
WITH made AS (
    INSERT INTO checkouts_checkout (
        public_id, code, merchant_id, mode, status, exception, amount, currency, description, metadata, customer_email,
        redirect_url, webhook_url, customer_ref, product_ref, order_ref, creation_ref, offers, deposit_nonce,
        amount_received, underpaid_reported, event_count, test_scenario, expires_at, created_at)
    SELECT 'chk_live_' || n, 'code' || n, %(merchant)s, 'live', 'pending', '', 49.00, 'USD', '', '{}', '', '', '', '', '', '',
           NULL, jsonb_build_object('base', jsonb_build_object('tokens', '["USDC"]'::jsonb, 'address', address)), sha256(n::text::bytea), 0, 0, 0, '',
           now() + interval '1 day', now()
    FROM unnest(%(addresses)s::text[]) WITH ORDINALITY AS made(address, n)
)
INSERT INTO wallets_depositaddress (key, destination, nonce, merchant_id, mode, created_at, watched_until)
SELECT substr(sha256(sha256(n::text::bytea)), 1, 20), '\\x70997970c51812dc3a010c7d01b50e0d17dc79c8'::bytea,
       sha256(n::text::bytea), %(merchant)s, 'live', now(), now() + interval '31 days'
FROM generate_series(1, %(last)s::int) n
"""


def address(number: int) -> str:
    """The deposit address of the n-th checkout that `_FILL` makes."""
    nonce = hashlib.sha256(str(number).encode()).digest()
    return "0x" + hashlib.sha256(nonce).digest()[:20].hex()


def run(*, rounds: int, seconds: float) -> list[Report]:
    """Measure all three. Rounds count; their length follows from the work."""
    del seconds
    with Anvil(8453, extra=["--gas-limit", "60000000"]) as node, stack.engines(**_chain_settings(node)):
        usdc = prepare_chain(node)["USDC"]
        mint(node, usdc, payer(node).address, 10**14)
        merchant, _ = stack.seed_merchant()
        return [
            _decoding(node, usdc, rounds),
            _crediting(node, usdc, merchant, rounds),
            _block_cost(node, usdc, merchant),
        ]


def _chain_settings(node: Anvil) -> dict[str, str]:
    return {"CHAIN_BASE_RPC_URLS": node.url, "CHAIN_BASE_TOKEN_USDC": token_address("USDC")}


def _pay(node: Anvil, usdc: str, recipients: Sequence[str]) -> None:
    """Pay all recipients, 500 a transaction, a block each."""
    for start in range(0, len(recipients), BATCH):
        part = recipients[start : start + BATCH]
        transfer_many(node, payer(node), usdc, [(to, UNITS) for to in part])


def _decoding(node: Anvil, usdc: str, rounds: int) -> Report:
    from web3 import Web3

    from wallets.chains.evm import decode as evm_decode

    first = node.block_number() + 1
    _pay(node, usdc, [address(number) for number in range(1, DECODED + 1)])
    question: dict[str, Any] = {
        "fromBlock": hex(first),
        "toBlock": hex(node.block_number()),
        "address": usdc,
        "topics": [evm_decode.TRANSFER],
    }
    web3: Any = Web3(Web3.HTTPProvider(node.url))
    contract = web3.eth.contract(usdc, abi=_TRANSFER_ABI)
    raw, library = (Series("raw decode", "logs/s"), Series("web3 get_logs + process_log", "logs/s"))
    with _raw_logs(node) as ask:
        for _ in range(rounds):
            raw.rounds.append(_rate(lambda: _decode_raw(ask(question), usdc)))
            library.rounds.append(
                _rate(lambda: [contract.events.Transfer().process_log(log) for log in web3.eth.get_logs(question)])
            )
    claims = [Claim("raw / web3 on 1,000 logs", ratio(raw, library), 50)]
    return Report("watcher decoding", [raw, library], claims)


_TRANSFER_ABI = [
    {
        "anonymous": False,
        "name": "Transfer",
        "type": "event",
        "inputs": [
            {"indexed": True, "name": "sender", "type": "address"},
            {"indexed": True, "name": "receiver", "type": "address"},
            {"indexed": False, "name": "value", "type": "uint256"},
        ],
    }
]


@contextmanager
def _raw_logs(node: Anvil) -> Iterator[Callable[[dict[str, Any]], list[Any]]]:
    from wallets.chains.rpc.client import Node

    rpc = Node(node.url)
    yield lambda question: rpc.call("eth_getLogs", [question])
    rpc.close()


def _decode_raw(logs: list[Any], usdc: str) -> int:
    from wallets.chains.evm import decode as evm_decode

    token = TokenSpec(symbol="USDC", address=usdc, decimals=6, accepted=True)
    found = evm_decode.transfer_logs(evm_decode.sided_logs(logs), tokens={usdc.lower(): token})
    if len(found) != DECODED:
        raise RuntimeError(f"{len(found)} logs decoded")
    return len(found)


def _rate(work: Callable[[], object]) -> float:
    """Work for a second: a single time takes some milliseconds, and says more about the moment."""
    started, times = time.perf_counter(), 0
    while (now := time.perf_counter()) - started < 1.0:
        work()
        times += 1
    return DECODED * times / (now - started)


def _crediting(node: Anvil, usdc: str, merchant: int, rounds: int) -> Report:
    """Credit and complete 10,000 checkouts out of 100,000 open ones, from the first request to the last event row."""
    from checkouts.models import Checkout, Payment

    series = Series("ingested, credited, completed", "credits/s")
    notes = []
    for number in range(rounds):
        _empty()
        _fill(merchant, MANY)
        watcher = _watcher(node)
        _read_to_head(watcher)
        _pay(node, usdc, [address(n) for n in range(number * CREDITS + 1, (number + 1) * CREDITS + 1)])
        node.mine(12)
        started = time.perf_counter()
        _read_to_head(watcher)
        read_at = time.perf_counter()
        _attribute()
        ended = time.perf_counter()
        series.rounds.append(CREDITS / (ended - started))
        completed = Checkout.objects.filter(status="completed").count()
        if completed != CREDITS or Payment.objects.count() != CREDITS:
            raise RuntimeError(f"{completed} completed")
        notes.append(f"round {number + 1}: reading {read_at - started:.2f} s, crediting {ended - read_at:.2f} s")
    claims = [Claim("credits a second, 10,000 logs, 100,000 open checkouts", series.median, 10_000)]
    return Report("watcher crediting", [series], claims, notes)


def _block_cost(node: Anvil, usdc: str, merchant: int) -> Report:
    """What one block of 200 transfers, ten of them ours, costs to read and credit."""
    costs = {}
    for present in (FEW, MANY):
        _empty()
        _fill(merchant, present)
        watcher = _watcher(node)
        _read_to_head(watcher)
        costs[present] = Series(f"a block at {present:,} open checkouts", "ms")
        for block in range(BLOCKS):
            ours = [address(block * PAID_PER_BLOCK + n + 1) for n in range(PAID_PER_BLOCK)]
            strangers = [f"0x{block * LOGS_PER_BLOCK + n + 1:040x}" for n in range(LOGS_PER_BLOCK - PAID_PER_BLOCK)]
            _pay(node, usdc, ours + strangers)
            started = time.perf_counter()
            _read_to_head(watcher)
            _attribute()
            costs[present].rounds.append((time.perf_counter() - started) * 1000)
    grown = statistics.median(costs[MANY].rounds) / statistics.median(costs[FEW].rounds)
    claims = [Claim("cost at 100,000 / cost at 1,000", grown, 1.5, at_most=True)]
    return Report("watcher cost of a block", list(costs.values()), claims)


def _watcher(node: Anvil) -> "Watcher":
    from wallets.chains.evm.adapter import EvmAdapter
    from wallets.chains.registry import open_pool
    from wallets.models import Block, ChainCursor
    from wallets.networks import chain_spec
    from wallets.watchers.blocks import Watcher

    Block.objects.all().delete()
    ChainCursor.objects.filter(chain="base").delete()
    head = node.block_number()
    block = node.rpc("eth_getBlockByNumber", hex(head), False)
    ChainCursor.objects.create(chain="base", height=head, block_hash=block["hash"], factory_ok=True)
    spec = chain_spec("base")
    pool = open_pool(spec)
    return Watcher(spec, EvmAdapter(spec, pool), rpc=pool, owner="bench")


def _read_to_head(watcher: "Watcher") -> None:
    from wallets.watchers.passes import PassOutcome

    while watcher.tick(now=timezone.now()) is not PassOutcome.IDLE:
        pass


def _attribute() -> None:
    from checkouts.attribution.queue import attribute_transfers

    attribute_transfers(now=timezone.now())


def _fill(merchant: int, last: int) -> None:
    from wallets.forwarders.addresses import checksum

    keys = (bytes.fromhex(address(number)[2:]) for number in range(1, last + 1))
    addresses = [checksum(key) for key in keys]
    with connection.cursor() as cursor:
        cursor.execute(_FILL, {"merchant": merchant, "last": last, "addresses": addresses})
        cursor.execute("ANALYZE")


def _empty() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "TRUNCATE checkouts_payment, checkouts_inboxitem, wallets_transferclaim, wallets_transfer, webhooks_attempt,"
            " webhooks_delivery, webhooks_event, checkouts_teststep, checkouts_checkout, wallets_depositaddress,"
            " checkouts_checkoutcount CASCADE"
        )
