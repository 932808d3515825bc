"""Where payouts go is asked of the chain: on each way in, before an approval, and before anything is handed out."""

import re
import socket
import time
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.utils import timezone

from accounts.audit.actors import Actor
from accounts.models import AuditEntry, Merchant, User
from accounts.states import Mode
from gateway.core.api.errors import ConflictError, InvalidRequestError
from gateway.core.api.rate_limits import Limit
from localnet.anvil import Anvil
from payouts.approvals.reviews import approve_list, digest_of, review
from payouts.approvals.service import approve_payout, standing_approvals
from payouts.batches.service import Wanted, make_batch
from payouts.dashboard.imports import HEADER
from payouts.lifecycle.claims import claim_code
from payouts.lifecycle.payers import prove_payer, start_payer_proof
from payouts.lifecycle.recipients import Recipient, learn, review_recipients
from payouts.lifecycle.service import Terms, request_payout, set_address
from payouts.models import Payout, PayoutBatch
from payouts.states import AddressBy, Method, PayoutStatus
from tests.contract.client import ApiClient, client_of
from tests.contract.refunding import paid
from tests.dashboard.people import Desk
from tests.factories import NOON, WALLET, make_live_chain
from tests.nodes.answering import answering_code
from tests.payouts.factories import (
    BUYER,
    OTHER_BUYER,
    approved,
    make_approver,
    make_paid,
    make_payout,
    refund_of,
    status_of,
)
from tests.tree import python_sources, relative
from tests.wallets.receiving.test_inspection import OWNERS, WETH
from tests.wallets.receiving.test_ways_in import HOSTILE
from tests.wallets.signing import Signer
from wallets.chains.base import ChainUnavailableError
from wallets.chains.family import AccountKind, ChainSpec
from wallets.models import Transfer
from wallets.receiving.inspection import InspectionRound
from wallets.receiving.proofs import message_of

if TYPE_CHECKING:
    from localnet.solana.node import SolanaNode

pytestmark = pytest.mark.django_db

TOKENS = {"base": "USDC", "tron": "USDT", "solana": "USDC", "ton": "USDT"}
WALLET_KIND, CONTRACT, TOKEN = AccountKind.WALLET, AccountKind.CONTRACT_WALLET, AccountKind.TOKEN
LOST = "The address is a token contract: money sent there is lost."


class Chains:
    """What the nodes of each chain say of any address: nothing, until the test says otherwise."""

    def __init__(self) -> None:
        self.says: dict[str, AccountKind] = {}
        self.depths: list[int] = []

    def ask(self, spec: ChainSpec) -> list[AccountKind]:
        """Answer as a round of look-ups gets it. Notes how many transactions are open then."""
        self.depths.append(len(connection.savepoint_ids))
        if spec.name not in self.says:
            raise ChainUnavailableError("silent")
        return [self.says[spec.name]]


@pytest.fixture
def chains(local_nodes: None, monkeypatch: pytest.MonkeyPatch) -> Chains:
    """Base, Polygon and Ethereum have nodes, which say what the test wants."""
    del local_nodes
    found = Chains()
    monkeypatch.setattr(InspectionRound, "_ask", lambda _, spec, __: found.ask(spec))
    return found


@pytest.fixture
def person(merchant: Merchant) -> User:
    """An owner who approves."""
    return make_approver(merchant)


def now_of(payout: Payout) -> Payout:
    return Payout.objects.select_related("merchant").get(pk=payout.pk)


def approve(payout: Payout, person: User) -> Payout:
    return approve_payout(payout, revision=payout.revision, actor=Actor(person), now=NOON)


def waiting(merchant: Merchant, chain: str = "base") -> Payout:
    """A payout that waits for its recipient's address."""
    terms = Terms(chain=chain, token=TOKENS[chain])
    return request_payout(merchant, mode=Mode.LIVE, amount=Decimal(5), terms=terms, now=timezone.now()).payout


def body_of(chain: str, address: str) -> dict[str, str]:
    return {"amount": "5", "chain": chain, "token": TOKENS[chain], "address": address}


def import_row(desk: Desk, chain: str, address: str) -> Any:
    text = f"{','.join(HEADER)}\n{address},5,{TOKENS[chain]},{chain},"
    return desk.post("dashboard_import_payouts", {"file": SimpleUploadedFile("payroll.csv", text.encode())})


@pytest.fixture
def connected(
    settings: Any, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Callable[[str], tuple[Any, list[str]]]:
    """Connects a chain alone, and returns its real local node and addresses there that lose money."""

    def connect(chain: str) -> tuple[Any, list[str]]:
        settings.CHAIN_NETWORK = "local"
        node = request.getfixturevalue(f"{chain}_node")
        settings.CHAIN_SETTINGS = {f"{chain.upper()}_RPC_URLS": node.url}
        monkeypatch.setattr("payouts.lifecycle.recipients._ASKED", Limit("payout.recipient", 1_000))
        return node, HOSTILE[chain](node)

    return connect


# Each way in, on each family's own chain.


@pytest.mark.parametrize("chain", HOSTILE)
def test_no_payout_is_asked_for_that_would_lose_the_money(
    merchant: Merchant, connected: Callable[[str], tuple[Any, list[str]]], chain: str
) -> None:
    shop = client_of(merchant, Mode.LIVE)
    _, hostile = connected(chain)
    for address in hostile:
        refused = shop.post("/payouts", body_of(chain, address))
        assert (refused.status, refused.error["param"], "The address" in refused.error["message"]) == (
            400,
            "address",
            True,
        ), address
    assert not Payout.objects.exists()


@pytest.mark.parametrize("chain", HOSTILE)
def test_no_way_gives_a_payout_an_address_that_loses_the_money(
    owner: Desk, connected: Callable[[str], tuple[Any, list[str]]], chain: str
) -> None:
    shop = client_of(owner.merchant, Mode.LIVE)
    _, hostile = connected(chain)
    # What only the chain can know: of these no list of ours has any.
    address = hostile[0]
    payout = waiting(owner.merchant, chain)
    assert shop.post(f"/payouts/{payout.public_id}/address", {"address": address}).code == "address_forbidden"
    page = Client().post(f"/r/{claim_code(payout)}", {"address": address})
    assert page.status_code == 422
    assert "That is not an address on" not in page.text
    form = owner.post("dashboard_payout_address", {"address": address}, payout_id=payout.public_id)
    assert (form.status_code, "The address" in form.text) == (422, True)
    file = import_row(owner, chain, address)
    assert file.status_code == 422
    assert "The address" in file.context["problems"][0].words
    assert (Payout.objects.get().address, status_of(payout)) == ("", PayoutStatus.OPEN)


def test_a_refund_is_checked_on_the_chain_that_the_money_came_on(seller: ApiClient, chains: Chains) -> None:
    chains.says = {"base": TOKEN}
    body = {"source": {"checkout": paid(seller)}, "address": BUYER}
    assert seller.post("/refunds", body).refusal == (400, "address_forbidden", "address")
    chains.says = {"base": WALLET_KIND}
    assert seller.post("/refunds", body).body["address_checked"] is True


def test_the_error_names_the_wallet_that_a_token_account_belongs_to(
    merchant: Merchant, solana_node: "SolanaNode", settings: Any
) -> None:
    from solders.keypair import Keypair

    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {"SOLANA_RPC_URLS": solana_node.url}
    owner, mint = str(Keypair().pubkey()), solana_node.create_token()
    account = solana_node.token_account(owner, token=mint)
    solana_node.fund(owner, 5, token=mint)
    refused = client_of(merchant, Mode.LIVE).post("/payouts", body_of("solana", account))
    assert refused.refusal == (400, "address_forbidden", "address")
    assert f"is a token account, not a wallet. It belongs to {owner}. Give that address." in refused.error["message"]
    payout = waiting(merchant, "solana")
    page = Client().post(f"/r/{claim_code(payout)}", {"address": account})
    assert page.status_code == 422
    assert owner in page.text
    given = Client().post(f"/r/{claim_code(payout)}", {"address": owner})
    assert given.status_code == 303
    assert now_of(payout).inspected_at is not None


def test_each_way_to_an_address_asks_its_chain() -> None:
    """What stores an address trusts its caller. What was sent already needs no look, and BTCPay's plugins give no address."""
    stores = re.compile(r"\b(?:request_payout|request_refund|set_address)\(")
    without = {"payouts/following/sent.py", "greenfield/refunds.py"}
    trusted = {"payouts/lifecycle/service.py", *without}
    callers = {
        name: path.read_text()
        for path in python_sources()
        if (name := relative(path)).split("/")[0] not in {"tests", "benchmarks", "demo", "clients"}
        and name not in trusted
        if stores.search(path.read_text())
    }
    assert {*callers} >= {"payouts/api.py", "payouts/page/views.py", "payouts/dashboard/imports.py"}
    assert [name for name, text in callers.items() if "ask_recipient" not in text] == []


# Contracts.


def test_a_contract_wallet_is_taken_and_who_approves_reads_that(owner: Desk, base_node: Anvil, settings: Any) -> None:
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": base_node.url}
    base_node.rpc("anvil_setCode", BUYER, answering_code(OWNERS))
    shop = client_of(owner.merchant, Mode.LIVE)
    made = shop.post("/payouts", body_of("base", BUYER)).body
    assert (made["status"], made["address_checked"]) == ("requested", True)
    payout = Payout.objects.select_related("merchant").get()
    assert payout.contract_on == "base"
    page = owner.get("dashboard_payout", payout_id=payout.public_id)
    assert "This address is a contract on Base." in page.text
    assert "A contract on Base" in owner.get("dashboard_payouts").text
    # Who approves has seen it.
    assert approve(payout, owner.user).status == PayoutStatus.APPROVED


def test_a_contract_wallet_of_another_network_is_marked_as_such(owner: Desk, chains: Chains) -> None:
    chains.says = {"base": WALLET_KIND, "ethereum": CONTRACT}
    client_of(owner.merchant, Mode.LIVE).post("/payouts", body_of("base", BUYER))
    payout = Payout.objects.get()
    assert payout.contract_on == "ethereum"
    page = owner.get("dashboard_payout", payout_id=payout.public_id).text
    assert "This address is a contract on Ethereum, not on Base." in page
    assert "can be lost" in page


def test_a_keys_own_account_is_shown_without_a_warning(owner: Desk, chains: Chains) -> None:
    chains.says = {"base": WALLET_KIND}
    client_of(owner.merchant, Mode.LIVE).post("/payouts", body_of("base", BUYER))
    page = owner.get("dashboard_payout", payout_id=Payout.objects.get().public_id)
    assert page.context["detail"].doubt.words == ""
    assert "payouts__doubt" not in owner.get("dashboard_payouts").text


# No node answers.


def test_without_an_answer_an_address_is_taken_and_who_approves_reads_that(
    owner_by_factor: Desk, chains: Chains
) -> None:
    desk = owner_by_factor
    made = client_of(desk.merchant, Mode.LIVE).post("/payouts", body_of("base", BUYER))
    assert (made.status, made.body["address_checked"]) == (201, False)
    payout = Payout.objects.get()
    assert (payout.inspected_at, payout.contract_on, payout.objection) == (None, "", "")
    assert "This address was not checked." in desk.get("dashboard_payout", payout_id=payout.public_id).text
    assert "Not checked" in desk.get("dashboard_payouts").text
    assert "Not checked" in desk.post("dashboard_review_payouts", {"all": "1"}).text
    asked = len(chains.depths)
    desk.post("dashboard_approve_payout", {"revision": 1}, payout_id=payout.public_id)
    payout = now_of(payout)
    assert (payout.status, payout.inspected_at, len(chains.depths)) == (PayoutStatus.APPROVED, None, asked + 1)
    # Who pays reads it, too.
    assert "Not checked" in desk.get("dashboard_payouts", "?status=pay").text


def test_an_import_says_how_many_addresses_are_not_checked_yet(owner: Desk, chains: Chains) -> None:
    import_row(owner, "base", BUYER)
    assert "1 of their addresses are checked in the next minutes." in owner.get("dashboard_payouts").text
    chains.says = {"base": WALLET_KIND}
    import_row(owner, "base", BUYER)
    assert "checked in the next minutes" not in owner.get("dashboard_payouts").text


def test_a_node_that_hangs_holds_nobody_for_long(
    merchant: Merchant, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("payouts.lifecycle.recipients._SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0), backlog=64) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        settings.CHAIN_SETTINGS = {f"{chain}_RPC_URLS": f"{url},{url}/2" for chain in ("BASE", "POLYGON")}
        began = time.monotonic()
        made = client_of(merchant, Mode.LIVE).post("/payouts", body_of("base", BUYER))
        assert time.monotonic() - began < 3
    assert (made.status, made.body["address_checked"]) == (201, False)


@pytest.mark.usefixtures("still_window")
def test_what_a_merchant_asks_too_often_is_taken_unchecked(
    merchant: Merchant, chains: Chains, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("payouts.lifecycle.recipients._ASKED", Limit("payout.recipient", 1))
    chains.says = {"base": WALLET_KIND}
    shop = client_of(merchant, Mode.LIVE)
    told = [shop.post("/payouts", body_of("base", address)).body for address in (BUYER, OTHER_BUYER)]
    assert [one["address_checked"] for one in told] == [True, False]


def test_in_test_mode_no_chain_is_asked(merchant: Merchant, chains: Chains) -> None:
    chains.says = {"base": TOKEN}
    made = client_of(merchant, Mode.TEST).post("/payouts", body_of("base", BUYER))
    assert (made.status, made.body["address_checked"], chains.depths) == (201, False, [])


# What the chain says later.


def test_what_the_chain_objects_to_later_is_not_approved(
    owner_by_factor: Desk, merchant: Merchant, chains: Chains
) -> None:
    desk = owner_by_factor
    payout = waiting(merchant)
    code = claim_code(payout)
    assert Client().post(f"/r/{code}", {"address": BUYER}).status_code == 303
    payout = now_of(payout)
    chains.says = {"base": TOKEN}
    for _ in range(2):
        answer = desk.post("dashboard_approve_payout", {"revision": payout.revision}, payout_id=payout.public_id)
        text = desk.client.get(answer["Location"]).text
        assert LOST in text
        assert "This address cannot be paid." in text
        payout = now_of(payout)
        assert (payout.status, payout.revision, payout.objection) == (PayoutStatus.REQUESTED, 2, LOST)
    assert AuditEntry.objects.filter(action="payout.address_doubted").count() == 1
    assert "Cannot be paid" in desk.get("dashboard_payouts").text
    # The recipient reads why, and gives another one.
    assert "That is a token's contract, not a wallet." in Client().get(f"/r/{code}").text
    chains.says = {"base": WALLET_KIND}
    assert Client().post(f"/r/{code}", {"address": OTHER_BUYER}).status_code == 303
    payout = now_of(payout)
    assert (payout.objection, payout.revision, payout.inspected_at is not None) == ("", 3, True)
    assert approve(payout, desk.user).status == PayoutStatus.APPROVED


def test_an_objection_that_was_mistaken_ends_once_the_chain_says_otherwise(person: User, merchant: Merchant) -> None:
    payout = make_payout(merchant)
    learn(payout, Recipient("base", BUYER, objection=LOST), now=NOON)
    with pytest.raises(ConflictError, match="Change it, or cancel"):
        approve(now_of(payout), person)
    assert learn(payout, Recipient("base", BUYER), now=NOON) is False
    payout = now_of(payout)
    assert (payout.objection, payout.revision) == ("", 2)
    assert approve(payout, person).status == PayoutStatus.APPROVED


def test_a_warning_that_nobody_has_seen_stops_the_approval_until_it_is_read(
    merchant: Merchant, person: User, chains: Chains
) -> None:
    payout = make_payout(merchant)
    chains.says = {"base": CONTRACT}
    with pytest.raises(ConflictError, match="that you have not seen"):
        approve(payout, person)
    seen = now_of(payout)
    assert (seen.status, seen.revision, seen.contract_on) == (PayoutStatus.REQUESTED, 2, "base")
    with pytest.raises(ConflictError):
        approve(payout, person)
    assert approve(seen, person).status == PayoutStatus.APPROVED


def test_of_two_who_approve_the_first_has_to_read_it_too(merchant: Merchant, person: User, chains: Chains) -> None:
    Merchant.objects.update(payout_approvals=2, payout_second_above=1)
    payout = make_payout(merchant)
    assert approve(payout, person).status == PayoutStatus.REQUESTED
    chains.says = {"base": CONTRACT}
    with pytest.raises(ConflictError, match="that you have not seen"):
        approve(payout, make_approver(merchant))
    assert standing_approvals(now_of(payout)).count() == 0


@pytest.mark.usefixtures("local_nodes")
def test_a_list_leaves_out_what_its_chain_objects_to_or_warns_of(
    merchant: Merchant, person: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {BUYER: TOKEN, OTHER_BUYER: CONTRACT, WALLET: WALLET_KIND}
    payouts = [make_payout(merchant, address=address) for address in said]
    shown = {one.public_id: one.revision for one in payouts}
    monkeypatch.setattr(InspectionRound, "_ask", lambda _, __, address: [said[address]])
    done = approve_list(merchant, Mode.LIVE, shown, digest=digest_of(payouts), actor=Actor(person), now=NOON)
    assert [one.address for one in done.approved] == [WALLET]
    reasons = {one.payout.address: one.why for one in done.left_out}
    assert reasons[BUYER] == f"{LOST} Change it, or cancel this payout."
    assert "that you have not seen" in reasons[OTHER_BUYER]
    # The next list has the warning in it, and never what cannot be paid.
    found = review([now_of(one) for one in payouts[:2]], person, now=NOON)
    assert [one.address for one in found.listed] == [OTHER_BUYER]
    assert [one.why for one in found.left_out] == [reasons[BUYER]]


@pytest.mark.parametrize("kind", [TOKEN, CONTRACT])
def test_what_was_approved_unchecked_is_not_handed_out_if_its_chain_objects_or_warns(
    merchant: Merchant, person: User, chains: Chains, kind: AccountKind
) -> None:
    payout = approved(make_payout(merchant), person)
    chains.says = {"base": kind}
    with pytest.raises(ConflictError, match="approve them again"):
        hand_out(payout, person)
    assert status_of(payout) == PayoutStatus.REQUESTED
    assert standing_approvals(now_of(payout)).count() == 0


def test_a_contract_wallet_that_an_approver_has_read_of_is_handed_out(
    merchant: Merchant, person: User, chains: Chains
) -> None:
    payout = make_payout(merchant)
    learn(payout, Recipient("base", BUYER, contract_on="base"), now=NOON)
    assert hand_out(approve(now_of(payout), person), person).requests.count() == 1
    assert chains.depths == []


def hand_out(payout: Payout, person: User) -> PayoutBatch:
    wanted = Wanted([payout.public_id], WALLET, Method.LIST)
    return make_batch(payout.merchant, Mode.LIVE, wanted, actor=Actor(person), now=NOON)


def test_what_is_said_of_another_address_or_once_it_was_handed_out_changes_nothing(
    merchant: Merchant, person: User
) -> None:
    waits, sent = make_payout(merchant), approved(make_payout(merchant), person)
    Payout.objects.filter(pk=sent.pk).update(status=PayoutStatus.SENDING)
    assert not learn(waits, Recipient("base", OTHER_BUYER, objection=LOST), now=NOON)
    assert not learn(waits, Recipient("polygon", BUYER, objection=LOST), now=NOON)
    assert not learn(sent, Recipient("base", BUYER, objection=LOST), now=NOON)
    assert {now_of(one).inspected_at for one in (waits, sent)} == {None}


def test_an_address_without_an_answer_takes_none_over_from_the_one_before(merchant: Merchant, chains: Chains) -> None:
    chains.says = {"base": CONTRACT}
    shop = client_of(merchant, Mode.LIVE)
    made = shop.post("/payouts", body_of("base", BUYER)).body
    chains.says = {}
    changed = shop.post(f"/payouts/{made['id']}/address", {"address": OTHER_BUYER}).body
    assert (changed["address"], changed["address_checked"]) == (OTHER_BUYER, False)
    assert Payout.objects.get().contract_on == ""


def test_the_same_address_given_again_is_known_once_its_chain_answers(merchant: Merchant, chains: Chains) -> None:
    shop = client_of(merchant, Mode.LIVE)
    path = f"/payouts/{shop.post('/payouts', body_of('base', BUYER)).body['id']}/address"
    chains.says = {"base": WALLET_KIND}
    again = shop.post(path, {"address": BUYER}).body
    assert (again["address_checked"], again["approvals"]["revision"]) == (True, 1)
    chains.says = {"base": TOKEN}
    assert shop.post(path, {"address": BUYER}).refusal == (400, "address_forbidden", "address")


# In the background.


def test_what_no_node_spoke_of_is_asked_again_by_itself(merchant: Merchant, person: User, chains: Chains) -> None:
    make_live_chain("base")
    now = timezone.now()
    waits, ready, tested = make_payout(merchant), approved(make_payout(merchant), person), make_payout(merchant)
    Payout.objects.filter(pk=tested.pk).update(mode=Mode.TEST)
    assert review_recipients(now=now) == 0
    assert now_of(waits).inspected_at is None
    chains.says = {"base": WALLET_KIND}
    assert review_recipients(now=now) == 0
    assert (now_of(waits).inspected_at, status_of(ready)) == (now, PayoutStatus.APPROVED)
    asked = len(chains.depths)
    review_recipients(now=now)
    assert (len(chains.depths), now_of(tested).inspected_at) == (asked, None)


def test_what_is_warned_of_in_the_background_waits_for_approval_again(
    merchant: Merchant, person: User, chains: Chains
) -> None:
    make_live_chain("base")
    ready = approved(make_payout(merchant), person)
    chains.says = {"base": CONTRACT}
    assert review_recipients(now=timezone.now()) == 1
    ready = now_of(ready)
    assert (ready.status, ready.approved_at, ready.revision) == (PayoutStatus.REQUESTED, None, 2)


def test_payouts_of_a_chain_that_is_down_are_not_asked_about(merchant: Merchant, chains: Chains) -> None:
    make_payout(merchant)
    review_recipients(now=timezone.now())
    assert chains.depths == []


# Repeats, and transactions.


def test_a_repeat_gets_the_first_answer_whatever_the_chain_says_by_then(merchant: Merchant, chains: Chains) -> None:
    shop = client_of(merchant, Mode.LIVE)
    body = body_of("base", BUYER)
    kept = shop.send("POST", "/payouts", body, HTTP_IDEMPOTENCY_KEY="k")
    open_ = waiting(merchant)
    to = {"address": BUYER}
    given = shop.send("POST", f"/payouts/{open_.public_id}/address", to, HTTP_IDEMPOTENCY_KEY="m")
    named = shop.post("/payouts", body | {"reference": "wage-ada"})
    chains.says = {"base": TOKEN}
    chains.depths.clear()
    assert shop.send("POST", "/payouts", body, HTTP_IDEMPOTENCY_KEY="k").raw == kept.raw
    again = shop.send("POST", f"/payouts/{open_.public_id}/address", to, HTTP_IDEMPOTENCY_KEY="m")
    assert (again.status, again.raw) == (200, given.raw)
    assert shop.send("POST", "/payouts", body | {"amount": "6"}, HTTP_IDEMPOTENCY_KEY="k").code == "duplicate"
    assert not chains.depths, "a repeat asks no node"
    again = shop.post("/payouts", body | {"reference": "wage-ada"})
    assert (again.status, again.body["id"]) == (200, named.body["id"])
    assert shop.send("POST", "/payouts", body, HTTP_IDEMPOTENCY_KEY="l").code == "address_forbidden"


def test_no_transaction_is_open_while_nodes_are_asked(owner: Desk, chains: Chains) -> None:
    """An Idempotency-Key's row, which other requests wait for, is held by none of them either."""
    merchant, shop, signer = owner.merchant, client_of(owner.merchant, Mode.LIVE), Signer("base")
    open_, provable = waiting(merchant), make_provable(merchant, signer)
    unknown = [make_payout(merchant) for _ in range(3)]
    ready = approved(make_payout(merchant), owner.user)
    before = len(connection.savepoint_ids)
    proof = start_payer_proof(provable, address=signer.address, now=NOON)
    ways: list[Callable[[], object]] = [
        lambda: shop.send("POST", "/payouts", body_of("base", BUYER), HTTP_IDEMPOTENCY_KEY="a"),
        lambda: shop.send("POST", f"/payouts/{open_.public_id}/address", {"address": BUYER}, HTTP_IDEMPOTENCY_KEY="b"),
        lambda: Client().post(f"/r/{claim_code(open_)}", {"address": OTHER_BUYER}),
        lambda: owner.post("dashboard_payout_address", {"address": BUYER}, payout_id=open_.public_id),
        lambda: import_row(owner, "base", BUYER),
        lambda: prove_payer(provable, nonce=proof.nonce, signature=signer.sign(message_of(proof)), now=NOON),
        lambda: approve(unknown[0], owner.user),
        lambda: approve_list(
            merchant,
            Mode.LIVE,
            {one.public_id: 1 for one in unknown[1:]},
            digest=digest_of(unknown[1:]),
            actor=Actor(owner.user),
            now=NOON,
        ),
        lambda: hand_out(ready, owner.user),
    ]
    for number, way in enumerate(ways):
        chains.depths.clear()
        way()
        assert {*chains.depths} == {before}, number


def make_provable(merchant: Merchant, signer: Signer) -> Payout:
    """A refund that only an address that paid may get, which is the signer's."""
    checkout = make_paid(merchant)
    Transfer.objects.filter(payment__checkout=checkout).update(sender=signer.address.lower())
    return refund_of(checkout, requires_proof=True).payout


def test_a_payer_that_its_chain_objects_to_proves_nothing(merchant: Merchant, chains: Chains) -> None:
    signer = Signer("base")
    payout = make_provable(merchant, signer)
    chains.says = {"base": TOKEN}
    proof = start_payer_proof(payout, address=signer.address, now=NOON)
    with pytest.raises(InvalidRequestError) as refused:
        prove_payer(payout, nonce=proof.nonce, signature=signer.sign(message_of(proof)), now=NOON)
    assert refused.value.code == "address_forbidden"
    proof.refresh_from_db()
    assert (proof.used_at, status_of(payout)) == (None, PayoutStatus.OPEN)


def test_who_gives_an_address_by_hand_changes_what_is_known_of_it(merchant: Merchant) -> None:
    payout = make_payout(merchant)
    learn(payout, Recipient("base", BUYER, objection=LOST), now=NOON)
    changed = set_address(payout, address=OTHER_BUYER, by=AddressBy.PERSON, now=NOON)
    assert (changed.inspected_at, changed.objection, changed.revision) == (None, "", 3)


def test_on_a_real_chain_a_token_is_found_before_anything_is_handed_out(
    merchant: Merchant, person: User, base_node: Anvil, settings: Any
) -> None:
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": "http://127.0.0.1:1"}
    payout = approved(make_payout(merchant), person)
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": base_node.url}
    base_node.rpc("anvil_setCode", BUYER, answering_code(WETH))
    with pytest.raises(ConflictError, match="approve them again"):
        hand_out(payout, person)
    assert now_of(payout).objection == LOST
