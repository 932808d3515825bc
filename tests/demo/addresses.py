"""Each family's own test node, described as var/demo.json describes the demo's."""

from collections.abc import Callable
from typing import Any

from demo.localnet.anvil import Anvil
from demo.localnet.funding import payer
from demo.localnet.solana.node import USDC, SolanaNode
from demo.localnet.tokens import balance_of, token_address
from demo.localnet.ton.node import TonNode
from demo.localnet.tron.addresses import to_base58, to_hex
from demo.localnet.tron.node import USDT, TronNode
from demo.nodes.base import LocalChain
from demo.wallet import pay
from wallets.chains.evm.family import EVM_FAMILY
from wallets.chains.solana.family import SOLANA_FAMILY
from wallets.chains.ton.family import TON_FAMILY
from wallets.chains.tron.family import TRON_FAMILY

Balance = Callable[[str], int]


def evm_entry(node: Anvil) -> dict[str, Any]:
    """An EVM chain with USDC."""
    account = payer(node)
    return LocalChain(
        name="base",
        kind=EVM_FAMILY.name,
        rpc_url=node.url,
        node_url=node.url,
        tokens={"USDC": token_address("USDC")},
        funded_address=account.address,
        funded_private_key=account.key,
        chain_id=node.chain_id,
    ).as_json()


def tron_entry(node: TronNode) -> dict[str, Any]:
    """Tron with USDT."""
    account = payer(node.anvil)
    return LocalChain(
        name="tron",
        kind=TRON_FAMILY.name,
        rpc_url=node.url,
        node_url=node.anvil.url,
        tokens={"USDT": USDT},
        funded_address=to_base58(account.address),
        funded_private_key=account.key,
        chain_id=node.anvil.chain_id,
    ).as_json()


def solana_entry(node: SolanaNode) -> dict[str, Any]:
    """Solana with USDC."""
    return LocalChain(
        name="solana",
        kind=SOLANA_FAMILY.name,
        rpc_url=node.url,
        node_url=node.url,
        tokens={"USDC": USDC},
        funded_address=str(node.payer.pubkey()),
        funded_private_key=str(node.payer),
    ).as_json()


def ton_entry(node: TonNode) -> dict[str, Any]:
    """TON with USDT."""
    return LocalChain(
        name="ton",
        kind=TON_FAMILY.name,
        rpc_url=node.url,
        node_url=node.url,
        tokens={"USDT": node.usdt},
        funded_address=node.payer.address,
        funded_private_key=node.payer.seed.hex(),
    ).as_json()


def evm_balance(node: Anvil) -> Balance:
    """What an address holds of USDC."""
    return lambda owner: balance_of(node, token_address("USDC"), owner)


def tron_balance(node: TronNode) -> Balance:
    """What an address holds of USDT."""
    return lambda owner: balance_of(node.anvil, to_hex(USDT), to_hex(owner))


def pay_one(entry: dict[str, Any], to: str) -> None:
    """Pay one USDC, in a process that knows no Django."""
    pay(entry, token="USDC", to=to, amount="1")
