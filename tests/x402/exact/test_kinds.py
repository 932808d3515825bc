"""Which payments are offered: kinds of both versions, and the accounts that carry them out."""

import json
import secrets
import subprocess
from dataclasses import replace
from typing import Any

import pytest
from solders.hash import Hash
from solders.instruction import Instruction
from solders.keypair import Keypair

from accounts.states import Mode
from localnet.anvil import Anvil
from localnet.authorizations import Authorization, authorize
from localnet.permit2 import PERMIT2, UPTO_PROXY, Permit, allow, lay_permit2, own_permit, permit
from localnet.solana.node import SolanaNode
from localnet.tokens import balance_of, mint
from tests.contract.client import ApiClient, client_of
from tests.tree import ROOT
from tests.x402.exact.bodies import RESOURCE, body_of
from tests.x402.exact.calls import settle, verify
from tests.x402.exact.permits import permit_body, upto_body
from tests.x402.exact.solana.payers import MEMO, Draft, ticking
from tests.x402.exact.solana.payers import Shop as SolanaShop
from tests.x402.payers import pay_to_of
from wallets.chains.registry import CHAINS
from wallets.models import ChainCursor
from wallets.networks import chain_spec
from x402.exact.kinds import chain_called, network_of, offered_chains
from x402.models import X402Payment

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


@pytest.fixture
def many_networks(settings: Any) -> None:
    """The chains are those of the world, and the optional ones have nodes, which test keys do not ask."""
    settings.CHAIN_NETWORK = "mainnet"
    optional = [facts.name for facts in CHAINS if facts.is_optional]
    settings.CHAIN_SETTINGS = {f"{name.upper()}_RPC_URLS": "http://127.0.0.1:1" for name in optional}


def with_test_key(tester: ApiClient, kind: dict[str, Any]) -> dict[str, Any]:
    """A payment of this kind, as a payer signs it for a seller in test mode."""
    version = kind["x402Version"]
    spec = chain_called(kind["network"], version, Mode.TEST)
    assert spec is not None
    to = pay_to_of(tester, spec.name)
    if spec.chain_id is None:
        ours, payer = kind["extra"]["feePayer"], Keypair()
        memo = Instruction(MEMO, secrets.token_hex(16).encode(), [])
        draft = Draft(payer, ours, to, str(Hash.new_unique()), extra=[memo])
        # Its node is asked for nothing.
        return SolanaShop(SolanaNode(), to, ours, payer).body(draft.signed(), version=version)
    token = next(one.address for one in spec.machine_tokens if not one.cut_decimals)
    until, signature, nonce = 2**40, "0x" + "11" * 65, secrets.randbits(255)
    if version == 1:
        authorization = Authorization(PERMIT2, to, UNITS, 0, until, f"0x{nonce:064x}", signature)
        return body_of(authorization, token, version=1, chain_id=spec.chain_id)
    told = Permit(PERMIT2, token, to, UNITS, nonce, until, signature=signature)
    if kind["scheme"] == "exact":
        return permit_body(told, spec.chain_id)
    named = replace(told, spender=UPTO_PROXY, facilitator=kind["extra"]["facilitatorAddress"])
    return upto_body(named, spec.chain_id, UNITS)


@pytest.mark.usefixtures("many_networks")
def test_each_kind_that_test_keys_are_told_of_is_settled_as_it_says(tester: ApiClient) -> None:
    kinds = tester.get("/x402/supported").body["kinds"]
    assert {"eip155:42161", "eip155:10", "solana", "base"} < {kind["network"] for kind in kinds}
    for kind in kinds:
        body = with_test_key(tester, kind)
        assert body["paymentRequirements"]["network"] == kind["network"]
        assert body["paymentRequirements"]["scheme"] == kind["scheme"]
        answer = settle(tester, body)
        assert answer["success"], (kind, answer)
    assert X402Payment.objects.count() == len(kinds)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"network": "eip155:999"}, "invalid_network"),
        ({"scheme": "batch-settlement"}, "unsupported_scheme"),
        ({"network": "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "scheme": "upto"}, "unsupported_scheme"),
    ],
)
@pytest.mark.usefixtures("many_networks")
def test_a_kind_that_is_not_listed_is_refused(tester: ApiClient, changes: dict[str, str], reason: str) -> None:
    kinds = tester.get("/x402/supported").body["kinds"]
    kind = next(one for one in kinds if (one["network"], one["scheme"]) == ("eip155:8453", "exact"))
    assert not any(changes.items() <= one.items() for one in kinds)
    body = with_test_key(tester, kind)
    body["paymentRequirements"] |= changes
    body["paymentPayload"]["accepted"] = body["paymentRequirements"]
    assert verify(tester, body)["invalidReason"] == reason
    assert settle(tester, body)["errorReason"] == reason


@pytest.mark.usefixtures("many_networks")
def test_the_extension_for_a_first_payment_is_checked_for_test_keys_too(tester: ApiClient) -> None:
    told = tester.get("/x402/supported").body
    assert "eip2612GasSponsoring" in told["extensions"]
    kind = next(one for one in told["kinds"] if (one["network"], one["scheme"]) == ("eip155:8453", "exact"))
    body = with_test_key(tester, kind)
    signed = body["paymentPayload"]["payload"]["permit2Authorization"]
    info = {
        "from": signed["from"],
        "asset": signed["permitted"]["token"],
        "spender": PERMIT2,
        "amount": str(UNITS),
        "nonce": "0",
        "deadline": signed["deadline"],
        "signature": "0x" + "11" * 65,
        "version": "1",
    }
    wrong = info | {"spender": UPTO_PROXY}
    for own, reason in ((wrong, "eip2612_spender_not_permit2"), (info, "")):
        body["paymentPayload"]["extensions"] = {"eip2612GasSponsoring": {"info": own, "schema": {}}}
        assert settle(tester, body).get("errorReason", "") == reason


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
