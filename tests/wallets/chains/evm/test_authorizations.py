"""What is signed for a token (EIP-3009): what wallets are shown, whose signature it is, and under which name the token signs."""

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account
from structlog.testing import capture_logs

from florin_x402.config import KNOWN_DOMAINS
from wallets.chains.evm.authorizations import contracts, domains, eip3009
from wallets.chains.evm.authorizations.domains import domain_of, separator_of
from wallets.chains.evm.authorizations.terms import BY_KEY, BY_WALLET, Refusal, TransferAuthorization
from wallets.chains.facts import BASE, CHAINS, POLYGON
from wallets.chains.family import ChainSpec, TokenDomain
from wallets.chains.registry import load_chain, open_pool
from wallets.chains.rpc.client import RefusedError
from wallets.networks import chain_spec

PAYER = Account.from_key("0x" + "17" * 32)
CIRCLE = TokenDomain("USD Coin", "2")
# Hashed and signed with PAYER's key by npm's @metamask/eth-sig-util 8.2.0 (signTypedData, V4).
METAMASK = json.loads(Path(__file__).with_name("metamask_typed_data.json").read_text())
# The DOMAIN_SEPARATOR of Circle's USDC on Base.
ON_BASE = "02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f"


@pytest.fixture
def asked() -> TransferAuthorization:
    """A payment of 25 USDC on Base."""
    spec = load_chain(BASE, network="mainnet", settings={})
    return TransferAuthorization(
        spec=spec,
        token=spec.tokens["USDC"].address,
        domain=CIRCLE,
        payer=PAYER.address,
        recipient="0x" + "41" * 20,
        units=25_000_000,
        valid_after=0,
        valid_before=7_000,
        nonce=b"\x01" * 32,
    )


def signature_of(asked: TransferAuthorization) -> bytes:
    return bytes(Account.sign_typed_data(PAYER.key, full_message=asked.typed()).signature)


class OneAnswer:
    """Nodes that give one answer to whatever is asked, or refuse it."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[str] = []

    def run(self, ask: Any) -> Any:
        return ask(self)

    def call(self, method: str, params: list[Any]) -> Any:
        self.asked.append(method)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (hex(100_000), (None, 125_000)),
        (hex(450_000), (None, contracts.MOST_GAS)),
        (hex(500_001), (Refusal.GAS, 0)),
        (RefusedError("base: execution reverted: FiatTokenV2: authorization is used or canceled"), (Refusal.USED, 0)),
    ],
)
def test_what_a_keys_transfer_takes_is_estimated_and_not_assumed(
    answer: Any, expected: tuple[Refusal | None, int], asked: TransferAuthorization
) -> None:
    nodes: Any = OneAnswer(answer)
    signed = asked.signed_by(signature_of(asked))
    assert eip3009.rehearsal(nodes, signed, sender=PAYER.address) == expected
    assert nodes.asked == ["eth_estimateGas"]


def test_what_a_wallet_signs_from_what_it_is_shown_is_what_is_checked(asked: TransferAuthorization) -> None:
    typed = asked.typed()
    # MetaMask signs an empty domain where none is described.
    assert [one["name"] for one in typed["types"]["EIP712Domain"]] == list(typed["domain"])
    assert typed["domain"]["chainId"] == 8453
    assert typed["message"]["value"] == "25000000"
    signed = asked.signed_by(signature_of(asked))
    assert signed.is_of_key()
    for other in (
        replace(signed, units=1),
        replace(signed, recipient=signed.payer),
        replace(signed, valid_before=7_001),
        replace(signed, nonce=b"\x02" * 32),
        replace(signed, payer="0x" + "42" * 20),
        replace(signed, domain=TokenDomain("USDC", "2")),
    ):
        assert not other.is_of_key()


@pytest.mark.parametrize("vector", METAMASK, ids=lambda vector: f"{vector['chain']}-{vector['token']}")
def test_metamasks_own_library_signs_the_same_digest(vector: dict[str, Any]) -> None:
    told, domain = vector["message"], vector["domain"]
    spec = load_chain({"base": BASE, "polygon": POLYGON}[vector["chain"]], network="mainnet", settings={})
    asked = TransferAuthorization(
        spec=spec,
        token=spec.tokens[vector["token"]].address,
        domain=TokenDomain(domain["name"], domain["version"]),
        payer=told["from"],
        recipient=told["to"],
        units=int(told["value"]),
        valid_after=int(told["validAfter"]),
        valid_before=int(told["validBefore"]),
        nonce=bytes.fromhex(told["nonce"][2:]),
    )
    assert (asked.typed()["domain"], asked.typed()["message"]) == (domain, told)
    assert "0x" + asked.digest().hex() == vector["digest"]
    assert asked.signed_by(bytes.fromhex(vector["signature"][2:])).is_of_key()


@pytest.mark.parametrize("wrong", [b"", b"\x00" * 64, b"\x00" * 65, b"\x01" * 66])
def test_what_no_key_writes_is_nobodys(asked: TransferAuthorization, wrong: bytes) -> None:
    assert not asked.signed_by(wrong).is_of_key()


def test_a_keys_signature_is_sent_in_its_parts_and_a_wallets_whole(asked: TransferAuthorization) -> None:
    raw = signature_of(asked)
    ours = asked.signed_by(raw).call()
    assert (ours.to, ours.data) == (asked.token, BY_KEY.call(*terms(asked), raw[64], raw[:32], raw[32:64]))
    # Some wallets number the two points from 0.
    assert asked.signed_by(raw[:64] + bytes([raw[64] - 27])).call() == ours
    whole = asked.signed_by(b"\x07" * 130).call()
    assert whole.data == BY_WALLET.call(*terms(asked), b"\x07" * 130)


def terms(asked: TransferAuthorization) -> tuple[Any, ...]:
    return asked.payer, asked.recipient, asked.units, asked.valid_after, asked.valid_before, asked.nonce


def test_a_domain_is_hashed_as_the_token_hashes_it() -> None:
    spec = load_chain(BASE, network="mainnet", settings={})
    assert separator_of(CIRCLE, 8453, spec.tokens["USDC"].address).hex() == ON_BASE


def test_only_tokens_that_are_or_may_be_taken_have_a_published_name() -> None:
    for facts in CHAINS:
        for network in (facts.mainnet, facts.testnet):
            assert set(network.domains) <= {*network.tokens, *facts.other_pegs}


def test_sellers_middleware_offers_each_such_dollar_under_its_published_name() -> None:
    for facts in CHAINS:
        for network in (facts.mainnet, facts.testnet):
            named = {network.tokens[one].lower(): name for one, name in network.domains.items() if one in facts.symbols}
            assert named.items() <= KNOWN_DOMAINS.items()


@pytest.fixture
def base(usdc: str, monkeypatch: pytest.MonkeyPatch) -> ChainSpec:
    """A local Base with a token that behaves like USDC, of whose names other tests remember nothing."""
    monkeypatch.setattr(domains, "_domains", {})
    spec = chain_spec("base")
    assert spec.tokens["USDC"].address == usdc
    return spec


def found(spec: ChainSpec) -> TokenDomain | None:
    with closing(open_pool(spec)) as pool:
        return domain_of(pool, spec, "USDC")


def named(spec: ChainSpec, domain: TokenDomain | None) -> ChainSpec:
    """The same chain, where another name is published."""
    return replace(spec, tokens={"USDC": replace(spec.tokens["USDC"], domain=domain)})


@pytest.mark.django_db
@pytest.mark.parametrize("published", [CIRCLE, None])
def test_the_published_name_or_else_the_tokens_own_is_used_if_the_token_signs_under_it(
    base: ChainSpec, published: TokenDomain | None
) -> None:
    assert found(named(base, published)) == CIRCLE


@pytest.mark.django_db
@pytest.mark.parametrize("wrong", [TokenDomain("USDC", "2"), TokenDomain("USD Coin", "1")])
def test_a_token_that_signs_under_another_name_is_not_used_and_said_loudly(base: ChainSpec, wrong: TokenDomain) -> None:
    with capture_logs() as logs:
        assert found(named(base, wrong)) is None
    assert [one["log_level"] for one in logs] == ["error"]
