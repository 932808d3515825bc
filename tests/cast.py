"""The people and things that tests are about, each made when a test first asks for it by the name of its fixture.

Those of the dashboard are a `Desk`: one person's browser at one merchant. Those of the API are an `ApiClient`: it asks
with a key. Nodes are in `tests/nodes/fixtures.py`; what reads and pays on them is in `tests/chains.py`.
"""

import shutil
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import time_machine
from allauth.mfa.models import Authenticator
from django.test import Client
from django.utils import timezone

from accounts.audit.actors import Actor
from accounts.login.people import vouch_for
from accounts.models import Invitation, Merchant, User
from accounts.states import Mode, Role
from accounts.team.service import invite
from checkouts.models import InboxItem
from tests.accounts.logins import ACTIVATE, totp_code
from tests.checkouts.factories import make_chains_well
from tests.checkouts.inboxes import extra_item
from tests.contract.client import ApiClient, client_of
from tests.dashboard.machines import GAS_KEY
from tests.dashboard.people import Desk, log_in, make_desk, make_member
from tests.factories import LOCAL_NODES, NOON, make_live_chain, make_merchant, make_user, make_wallet
from tests.gateway.operator.people import log_in_by_factor, make_operator
from tests.links.payer import Payer
from tests.waiting import wait_until
from tests.wallets.wallet_changes import make_owned_merchant
from tests.webhooks.factories import HOOK, make_endpoint
from tests.webhooks.receiver import Receiver, receiving
from webhooks.models import Endpoint

if TYPE_CHECKING:
    from tests.checkouts.arrivals import Till
    from tests.checkouts.page.streaming.servers import StreamServer
    from tests.demo.shop.client import Client as DemoShop


@pytest.fixture
def merchant() -> Merchant:
    """The merchant that the test is about, with nothing yet."""
    return make_merchant()


@pytest.fixture
def owned_merchant(merchant: Merchant) -> Merchant:
    """The merchant, with an owner."""
    make_member(merchant)
    return merchant


@pytest.fixture
def teamed_merchant() -> Merchant:
    """A merchant with two owners, one admin, and a wallet on Ethereum."""
    return make_owned_merchant()


@pytest.fixture
def member(owned_merchant: Merchant) -> User:
    """The owner of the merchant, not logged in."""
    return owned_merchant.memberships.get().user


@pytest.fixture
def till() -> "Till":
    """A merchant with wallets on two exact-amount chains, its checkouts, and the money that comes in."""
    from tests.checkouts.arrivals import Till

    return Till()


# At the dashboard.


@pytest.fixture
def owner(merchant: Merchant) -> Desk:
    """The merchant's owner, logged in a moment ago."""
    return make_desk(merchant, Role.OWNER)


@pytest.fixture
def owner_by_factor(merchant: Merchant) -> Desk:
    """An owner who logged in a moment ago by a second factor: changes of wallets ask for it."""
    return make_desk(merchant, factor=True)


@pytest.fixture
def owner_in_test_mode(merchant: Merchant) -> Desk:
    """The merchant's owner, who looks at what is no real money."""
    return make_desk(merchant, mode=Mode.TEST)


@pytest.fixture
def admin(merchant: Merchant) -> Desk:
    """An admin of the merchant."""
    return make_desk(merchant, Role.ADMIN)


@pytest.fixture
def viewer(merchant: Merchant) -> Desk:
    """A viewer of the merchant."""
    return make_desk(merchant, Role.VIEWER)


@pytest.fixture
def stranger(merchant: Merchant) -> Desk:
    """The owner of another merchant, at this one's door."""
    desk = make_desk(role=Role.OWNER)
    desk.merchant = merchant
    return desk


@pytest.fixture
def item(owner: Desk) -> InboxItem:
    """An open item of the owner's inbox: 25 USDC for a checkout that was paid already."""
    return extra_item(merchant=owner.merchant)


# At the login and behind it.


@pytest.fixture
def person() -> User:
    """Ada, who has a password, an address that is hers, and no team."""
    user = make_user("ada@example.test")
    vouch_for(user)
    return user


@pytest.fixture
def key(person: User, django_capture_on_commit_callbacks: Any) -> str:
    """The key of the person's authenticator app, set up as a browser does it."""
    client = log_in(person)
    secret = str(client.get(ACTIVATE).context["form"].secret)
    with django_capture_on_commit_callbacks(execute=True):
        client.post(ACTIVATE, {"code": totp_code(secret)})
    # A code works once.
    Authenticator.objects.filter(type="totp").update(last_used_at=None)
    return secret


@pytest.fixture
def operator(db: None) -> User:
    """Somebody of the staff, with a second factor."""
    return make_operator()


@pytest.fixture
def operators_browser(operator: User) -> Client:
    """The operator's browser, a moment after logging in by password and code."""
    return log_in_by_factor(operator)


@pytest.fixture
def offer(db: None, merchant: Merchant) -> Invitation:
    """An invitation of new@example.test to the merchant's team as a viewer, made at `NOON`."""
    return invite(merchant, email="new@example.test", role=Role.VIEWER, actor=Actor(make_member(merchant)), now=NOON)


# At the API.


@pytest.fixture
def shop() -> ApiClient:
    """A live key of a merchant without a wallet."""
    return client_of(mode=Mode.LIVE)


@pytest.fixture
def tester() -> ApiClient:
    """A test key of a merchant without a wallet."""
    return client_of(mode=Mode.TEST)


@pytest.fixture
def seller(local_nodes: None) -> ApiClient:
    """A live key of a merchant with wallets on Base and Polygon, whose watchers are well."""
    del local_nodes
    merchant = make_merchant()
    for chain in ("base", "polygon"):
        make_live_chain(chain)
        make_wallet(merchant, chain)
    return client_of(merchant, Mode.LIVE)


@pytest.fixture
def retry_shop() -> Merchant:
    """A merchant with a wallet on Base, whose buyers may start again."""
    merchant = make_merchant(buyers_may_retry=True)
    make_wallet(merchant)
    return merchant


@pytest.fixture
def payer() -> Payer:
    """Somebody with a browser who was sent a link."""
    return Payer(Client())


# Webhooks.


@pytest.fixture
def endpoint(merchant: Merchant) -> Endpoint:
    """The merchant's live endpoint, at `HOOK`."""
    return make_endpoint(merchant, HOOK)


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    """A server of this process that webhooks may arrive at."""
    settings.WEBHOOK_ALLOW_LOOPBACK = True
    with receiving() as opened:
        yield opened


# The demo.


@pytest.fixture
def empty_shop() -> Iterator["DemoShop"]:
    """The demo's shop, where no chain can be paid on."""
    from tests.demo.shop.client import serve

    yield from serve({})


# Pages and streams.


@pytest.fixture(scope="module")
def docs_pages(django_db_blocker: Any) -> dict[str, str]:
    """The HTML of each page of the documentation, by its address."""
    from gateway.docs.pages import pages

    addresses = ["/docs/", "/docs/api/explorer/", *[page.url for page in pages().values()]]
    answers = {address: Client().get(address) for address in addresses}
    assert {answer.status_code for answer in answers.values()} == {200}
    return {address: answer.text for address, answer in answers.items()}


@pytest.fixture(scope="module")
def shared_streams(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator["StreamServer"]:
    """One process that serves streams, for the tests of a module. Ask for `streams` instead."""
    from tests.checkouts.page.streaming.servers import stream_server

    with stream_server(tmp_path_factory.mktemp("streams")) as server:
        yield server


@pytest.fixture
def streams(chains_are_well: None, transactional_db: None, shared_streams: "StreamServer") -> Iterator["StreamServer"]:
    """The stream server, which by the end of the test shows no page: the tables are about to be emptied."""
    from tests.checkouts.page.streaming.servers import is_idle, is_listening

    wait_until(is_listening)
    yield shared_streams
    wait_until(is_idle)


# Where and when: chains that are no more than settings, and clocks that stand still.


@pytest.fixture
def local_nodes(settings: Any) -> None:
    """Base, Polygon and Ethereum are configured, with nodes that nobody asks."""
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = dict(LOCAL_NODES)


@pytest.fixture
def chains_are_well(settings: Any, db: None) -> None:
    """Every chain has a node and a watcher that is well: pages show no address where nobody reads."""
    make_chains_well(settings)


@pytest.fixture
def no_history(settings: Any) -> None:
    """Nothing is imported of what watched wallets did before."""
    settings.WALLET_HISTORY_DAYS = 0


@pytest.fixture
def gas_key(settings: Any) -> None:
    """The operator has a key that pays for gas."""
    settings.GAS_KEYS = [GAS_KEY]


@pytest.fixture
def no_bells(settings: Any) -> None:
    """Nobody but the test deals with the queue."""
    settings.TRANSFER_CONSUMERS = []


@pytest.fixture
def still_noon() -> Iterator[None]:
    """`NOON`, standing still."""
    with time_machine.travel(NOON, tick=False):
        yield


@pytest.fixture
def still_clock() -> Iterator[Any]:
    """Half a minute past `NOON`, standing still: what is counted never straddles two windows of a minute."""
    with time_machine.travel(NOON + timedelta(seconds=30), tick=False) as traveller:
        yield traveller


@pytest.fixture
def still_window(time_machine: Any) -> None:
    """Hold today's clock in the middle of a minute, so that no test straddles two windows."""
    time_machine.move_to(timezone.now().replace(second=30), tick=False)


@pytest.fixture
def evening() -> Iterator[None]:
    """Six hours after `NOON`, standing still."""
    with time_machine.travel(NOON + timedelta(hours=6, seconds=30), tick=False):
        yield


@pytest.fixture
def homes() -> Iterator[Path]:
    """A folder for engines. Not `tmp_path`: its parents are private, and root's engines run as another user."""
    folder = Path(tempfile.mkdtemp(prefix="florin-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def home(homes: Path) -> Path:
    """The folder of one set of engines, not made yet."""
    return homes / "home"
