"""Each way to a receiving wallet refuses the same addresses: the command, the page, and the page for machines."""

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import CommandError, call_command
from solders.pubkey import Pubkey

from gateway.core.api.rate_limits import Limit
from localnet.anvil import Anvil
from localnet.solana.programs import TOKEN_2022
from localnet.tokens import deploy_token
from localnet.tron.addresses import to_base58
from localnet.tron.node import TronNode
from tests.dashboard.people import Desk
from tests.nodes.answering import answering_code
from tests.wallets.receiving.test_inspection import CONTRACTS
from wallets.chains.solana import decode
from wallets.models import ReceivingWallet, WalletChange
from wallets.networks import chain_spec

if TYPE_CHECKING:
    from localnet.solana.node import SolanaNode
    from localnet.ton.node import TonNode

pytestmark = pytest.mark.django_db


def _at(number: int) -> str:
    return "0x" + f"{0x4100 + number:040x}"


def _on_base(node: Anvil) -> list[str]:
    for number, (_, answers, _) in enumerate(CONTRACTS):
        node.rpc("anvil_setCode", _at(number), answering_code(answers))
    return [deploy_token(node, "USDC", salt=b"\x08".rjust(32, b"\0")), *map(_at, range(len(CONTRACTS)))]


def _on_tron(node: TronNode) -> list[str]:
    return [to_base58(address) for address in _on_base(node.anvil)]


def _on_solana(node: "SolanaNode") -> list[str]:
    mints = [node.create_token(program=program) for program in (Pubkey.from_string(decode.TOKEN_PROGRAM), TOKEN_2022)]
    owner = str(Pubkey.new_unique())
    table = node.create_lookup_table([owner])
    return [*mints, *(node.token_account(owner, token=mint) for mint in mints), str(table.key), decode.TOKEN_PROGRAM]


def _on_ton(node: "TonNode") -> list[str]:
    owner = node.create_wallet(units=5)
    return [node.jetton_wallet(owner.address), node.usdt, "0:" + "00" * 32, "-1:" + "5" * 64]


HOSTILE: dict[str, Callable[[Any], list[str]]] = {
    "base": _on_base,
    "tron": _on_tron,
    "solana": _on_solana,
    "ton": _on_ton,
}


@pytest.mark.parametrize("chain", HOSTILE)
def test_no_way_stores_an_address_that_loses_the_money(
    owner: Desk, settings: Any, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, chain: str
) -> None:
    node = request.getfixturevalue(f"{chain}_node")
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {f"{chain.upper()}_RPC_URLS": node.url}
    monkeypatch.setattr("wallets.receiving.inspection._ASKED", Limit("wallet.inspection", 1_000))
    for address in HOSTILE[chain](node):
        monkeypatch.setattr("sys.stdin", io.StringIO("correct horse battery\n"))
        with pytest.raises(CommandError, match="The address"):
            call_command("create_merchant", "Shop", "o@example.test", "--wallet", f"{chain}={address}")
        for page in _pages(chain):
            answer = owner.post(page, {"address": address, "compared": "on", "typed": chain.title()}, chain=chain)
            assert (answer.status_code, "The address" in answer.text) == (422, True), (page, address)
    assert not ReceivingWallet.objects.exists()
    assert not WalletChange.objects.exists()


def _pages(chain: str) -> list[str]:
    pages = ["dashboard_receiving_wallet", "dashboard_set_receiving_wallet"]
    has_forwarders = chain_spec(chain).family.has_forwarders
    return pages if has_forwarders else [*pages, "dashboard_x402_wallet", "dashboard_set_x402_wallet"]
