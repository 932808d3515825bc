"""`manage.py deploy_factory CHAIN`: make deposit addresses usable on a chain."""

import json
import os
from argparse import ArgumentParser
from contextlib import closing
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from wallets.chains.base import ChainError
from wallets.chains.family import ChainSpec
from wallets.chains.registry import ChainConfigError, load_chains
from wallets.chains.rpc.client import Node
from wallets.forwarders.addresses import FACTORY_ADDRESS, checksum
from wallets.forwarders.factory import FactoryError, FactoryTransaction, deploy_factory, transaction_to_send

KEY_VARIABLE = "FLORIN_DEPLOYER_KEY"
BY_HAND = """\
Send this from any wallet with coin for gas on {title}. It gives the sender no rights.

  chain id  {chain_id}
  to        {to}
  value     {value} wei
  gas       {gas}
  data      {data}

In the console of a page your browser wallet is connected to:

  ethereum.request({request})

Then run this command again. To have it sent from here, put a private key into {variable}."""


class Command(BaseCommand):
    """Deploys the forwarder factory, or prints what to send. Running it again does no harm."""

    help = (
        "Deploy the forwarder factory to a chain, with the key in FLORIN_DEPLOYER_KEY, "
        "or print the transaction to send from a wallet of your own."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the argument: the chain. The key is not an argument, because other users of the machine could read it."""
        parser.add_argument("chain", help="an EVM chain's name, such as base")

    def handle(self, *args: Any, chain: str, **options: Any) -> None:
        """Deploy with the key, or print what to send. Raises CommandError."""
        spec = _evm_chain(chain)
        with closing(_node_of(spec)) as node:
            try:
                self._deploy(node, spec)
            except (FactoryError, ChainError) as error:
                raise CommandError(f"{spec.title}: {error}") from error

    def _deploy(self, node: Node, spec: ChainSpec) -> None:
        byte_gas = spec.gas.byte_gas if spec.gas else 0
        if key := os.environ.get(KEY_VARIABLE):
            deploy_factory(node, key=key, say=self.stdout.write, byte_gas=byte_gas)
            return
        transaction = transaction_to_send(node, say=self.stdout.write, byte_gas=byte_gas)
        if transaction is None:
            address = checksum(FACTORY_ADDRESS)
            self.stdout.write(f"The factory is already there, at {address}.")
            return
        self.stdout.write(_instructions(transaction, spec))


def _evm_chain(name: str) -> ChainSpec:
    try:
        chains = load_chains(settings.CHAIN_NETWORK, settings.CHAIN_SETTINGS)
    except ChainConfigError as error:
        raise CommandError(str(error)) from error
    spec = chains.get(name)
    if spec is None or not spec.family.has_forwarders:
        names = ", ".join(s.name for s in chains.values() if s.family.has_forwarders)
        raise CommandError(f"There is no EVM chain called {name!r}. There are: {names}.")
    if not spec.rpc_urls:
        raise CommandError(f"Set CHAIN_{name.upper()}_RPC_URLS to a node of {spec.title} first.")
    return spec


def _node_of(spec: ChainSpec) -> Node:
    """Return the first of the chain's nodes that answers and is on the right chain."""
    problems = []
    for url in spec.rpc_urls:
        node = Node(url)
        try:
            told = node.call("eth_chainId", [])
        except ChainError as error:
            problems.append(str(error))
        else:
            if told == hex(spec.chain_id or 0):
                return node
            problems.append(f"{node.label} is not on chain {spec.chain_id}")
        node.close()
    raise CommandError(f"No node of {spec.title} can be used: {'; '.join(problems)}.")


def _instructions(transaction: FactoryTransaction, spec: ChainSpec) -> str:
    fields = {
        "to": transaction.to,
        "value": hex(transaction.value),
        "gas": hex(transaction.gas),
        "data": "0x" + transaction.data.hex(),
    }
    request = {"method": "eth_sendTransaction", "params": [fields]}
    return BY_HAND.format(
        title=spec.title,
        chain_id=spec.chain_id,
        to=transaction.to,
        value=transaction.value,
        gas=transaction.gas,
        data=fields["data"],
        request=json.dumps(request),
        variable=KEY_VARIABLE,
    )
