"""Who funded a payer on Solana is read of its newest transactions; what came after more than these is not known."""

from types import SimpleNamespace
from typing import Any

import pytest

from wallets.chains.solana.funding import funder_of

OWNER, FUNDER = "owner", "funder"


class Listed:
    """A node that lists transactions of a token account, the newest first; those in `paid` were paid by the funder."""

    def __init__(self, count: int, *paid: int) -> None:
        self.listed = [{"signature": str(number), "err": None} for number in range(count)]
        self.paid = paid

    def run(self, operation: Any) -> Any:
        return operation(self)

    def call(self, method: str, params: list[Any]) -> Any:
        assert method == "getSignaturesForAddress"
        return self.listed[: params[1]["limit"]]

    def find(self, signature: str) -> Any:
        sender = FUNDER if int(signature) in self.paid else OWNER
        return SimpleNamespace(movements=[SimpleNamespace(recipient=OWNER, sender=sender)])


@pytest.mark.parametrize(
    ("node", "funder"),
    [
        (Listed(0), ""),
        (Listed(10), ""),
        (Listed(10, 9), FUNDER),
        (Listed(11), None),
        # Ten of its own hide who funded it.
        (Listed(11, 10), None),
        (Listed(60, 3), FUNDER),
    ],
)
def test_what_came_before_the_newest_transactions_is_not_known(node: Any, funder: str | None) -> None:
    assert funder_of(node, node, "account", OWNER) == funder


def test_failed_transactions_are_not_read_and_hide_what_is_behind_a_full_page() -> None:
    node: Any = Listed(60)
    for one in node.listed:
        one["err"] = {"InstructionError": [0, "Custom"]}
    assert funder_of(node, node, "account", OWNER) is None
    del node.listed[49:]
    assert funder_of(node, node, "account", OWNER) == ""
