"""Which payments are offered: kinds of both versions, and the accounts that carry them out."""

import json
import subprocess
from typing import Any

import pytest

from accounts.states import Mode
from localnet.anvil import Anvil
from localnet.authorizations import authorize
from localnet.permit2 import UPTO_PROXY, allow, lay_permit2, own_permit, permit
from localnet.tokens import balance_of, mint
from tests.contract.client import ApiClient, client_of
from tests.tree import ROOT
from tests.x402.exact.bodies import RESOURCE, body_of
from tests.x402.exact.calls import settle
from tests.x402.exact.permits import permit_body, upto_body
from tests.x402.exact.solana.payers import Shop as SolanaShop
from tests.x402.exact.solana.payers import ticking
from tests.x402.payers import pay_to_of
from wallets.models import ChainCursor
from wallets.networks import chain_spec
from x402.exact.kinds import chain_called, network_of, offered_chains

pytestmark = pytest.mark.django_db
UNITS = 10_000


def test_what_is_supported_is_told_in_both_versions(tester: ApiClient) -> None:
    kinds = tester.get("/x402/supported").body["kinds"]
    assert {"x402Version": 1, "scheme": "exact", "network": "base"} in kinds
    assert {"x402Version": 2, "scheme": "exact", "network": "eip155:8453"} in kinds
    assert ApiClient().get("/x402/supported").status == 401


def test_only_networks_that_a_versions_published_clients_know_are_listed(tester: ApiClient) -> None:
    kinds = tester.get("/x402/supported").body["kinds"]
    named = {1: set[str](), 2: set[str]()}
    for kind in kinds:
        named[kind["x402Version"]].add(kind["network"])
    assert named[1] <= npm_networks()
    assert named[1] == {"base", "polygon", "solana"}
    assert {"eip155:1", "eip155:8453", "eip155:137"} < named[2]
    assert all(":" in network for network in named[2])


def npm_networks() -> set[str]:
    """What npm x402, the first version's client, allows as a network."""
    told = "import('x402/types').then(x => console.log(JSON.stringify(x.NetworkSchema.options)))"
    done = subprocess.run(["node", "-e", told], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_each_kind_that_is_listed_is_settled_as_it_says(base_node: Anvil, usdc: str, exact_seller: ApiClient) -> None:
    lay_permit2(base_node)
    allow(base_node, usdc)
    kinds = exact_seller.get("/x402/supported").body["kinds"]
    assert {(one["x402Version"], one["scheme"]) for one in kinds} == {(1, "exact"), (2, "exact"), (2, "upto")}
    to = pay_to_of(exact_seller)
    for kind in kinds:
        if kind["scheme"] == "upto":
            named = {"facilitator": kind["extra"]["facilitatorAddress"], "spender": UPTO_PROXY}
            body = upto_body(permit(base_node, usdc, to, UNITS, **named), base_node.chain_id, UNITS)
        else:
            body = body_of(authorize(base_node, to, UNITS), usdc, version=kind["x402Version"])
        assert body["paymentRequirements"]["network"] == kind["network"]
        assert settle(exact_seller, body)["success"], kind
    assert balance_of(base_node, usdc, to) == len(kinds) * UNITS


def test_each_kind_of_solana_is_settled_by_the_account_that_it_names(
    solana_stall: SolanaShop, solana_seller: ApiClient
) -> None:
    kinds = solana_seller.get("/x402/supported").body["kinds"]
    assert {(one["x402Version"], one["scheme"]) for one in kinds} == {(1, "exact"), (2, "exact")}
    with ticking(solana_stall.node):
        for kind in kinds:
            signed = solana_stall.draft(fee_payer=kind["extra"]["feePayer"]).signed()
            body = solana_stall.body(signed, version=kind["x402Version"])
            assert body["paymentRequirements"]["network"] == kind["network"]
            assert settle(solana_seller, body)["success"], kind


def test_the_extensions_that_are_listed_are_those_that_are_carried_out(
    base_node: Anvil, usdc: str, exact_seller: ApiClient
) -> None:
    """One for a payer's first payment without coins, one for offers and receipts. Others are not carried out, and not listed."""
    lay_permit2(base_node)
    assert exact_seller.get("/x402/supported").body["extensions"] == ["eip2612GasSponsoring", "offer-receipt"]
    newcomer = base_node.accounts[6]
    mint(base_node, usdc, newcomer.address, UNITS)
    told = permit(base_node, usdc, pay_to_of(exact_seller), UNITS, account=newcomer)
    body = permit_body(told, base_node.chain_id) | {"receiptFor": RESOURCE}
    info = own_permit(base_node, told, newcomer)
    body["paymentPayload"]["extensions"] = {"eip2612GasSponsoring": {"info": info, "schema": {}}}
    answer = settle(exact_seller, body)
    assert answer["success"], answer
    assert "offer-receipt" in answer["extensions"]


def test_without_a_gas_key_nothing_is_supported() -> None:
    assert client_of(mode=Mode.LIVE).get("/x402/supported").body["kinds"] == []


def test_a_chain_whose_forwarders_could_not_be_flushed_is_not_offered(usdc: str, exact_seller: ApiClient) -> None:
    """`/config` has no address there either."""
    ChainCursor.objects.update(factory_ok=False)
    assert exact_seller.get("/x402/supported").body["kinds"] == []
    assert exact_seller.get("/x402/config").body["networks"] == []


def test_a_gas_account_is_told_as_the_signer(usdc: str, exact_seller: ApiClient) -> None:
    body = exact_seller.get("/x402/supported").body
    assert [kind["network"] for kind in body["kinds"]] == ["eip155:8453", "base"]
    assert len(body["signers"]["eip155:*"]) == 1


@pytest.fixture
def main_network(settings: Any) -> None:
    """The chains are those of the world, and nobody set nodes."""
    settings.CHAIN_NETWORK = "mainnet"
    settings.CHAIN_SETTINGS = {}


@pytest.mark.usefixtures("main_network")
@pytest.mark.parametrize(
    ("chain", "name", "caip"),
    [
        ("base", "base", "eip155:8453"),
        ("polygon", "polygon", "eip155:137"),
        ("solana", "solana", "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"),
    ],
)
def test_a_chain_has_a_name_in_each_version(chain: str, name: str, caip: str) -> None:
    spec = chain_spec(chain)
    assert (network_of(spec, 1), network_of(spec, 2)) == (name, caip)
    assert chain_called(name, 1, Mode.TEST) == spec
    assert chain_called(caip, 2, Mode.TEST) == spec


@pytest.mark.usefixtures("main_network")
def test_a_name_of_the_other_version_is_none() -> None:
    assert chain_called("base", 2, Mode.TEST) is None


@pytest.mark.usefixtures("main_network")
def test_without_nodes_nothing_live_is_offered() -> None:
    assert offered_chains(Mode.LIVE) == []
    assert {spec.name for spec in offered_chains(Mode.TEST)} >= {"base", "solana"}
