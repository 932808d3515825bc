"""One laboratory per chain."""

import pytest

from tests.wallets.contract.labs import Lab

CHAINS = ["ethereum", "base", "tron", "solana", "ton"]


@pytest.fixture(params=CHAINS)
def lab(request: pytest.FixtureRequest) -> Lab:
    """Each chain in turn, as new."""
    # The chains' libraries are slow to import, and a worker rarely needs all of them.
    chain, node = request.param, request.getfixturevalue(f"{request.param}_node")
    match chain:
        case "solana":
            from tests.wallets.contract.accountlabs import SolanaLab

            return SolanaLab(node)
        case "ton":
            from tests.wallets.contract.accountlabs import TonLab

            return TonLab(node)
        case "tron":
            from tests.wallets.contract.evmlabs import TronLab

            return TronLab(node)
        case _:
            from tests.wallets.contract.evmlabs import EvmLab

            return EvmLab(chain, node)
