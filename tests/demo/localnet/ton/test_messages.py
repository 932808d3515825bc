"""Messages of the local TON chain."""

from demo.localnet.ton.messages import NANOTONS, Payment
from demo.localnet.ton.node import TonNode

OP_NOTIFICATION = "0x7362d09c"


def listed(node: TonNode, owner: str, **query: object) -> list[dict[str, object]]:
    """The transfers to an owner, the newest first."""
    rows: list[dict[str, object]] = node.get("jetton/transfers", owner_address=owner, direction="in", **query)[
        "jetton_transfers"
    ]
    return rows


def test_one_nanoton_does_not_pay_for_the_notification_and_more_does(ton_node: TonNode) -> None:
    wallet = ton_node.create_wallet()
    ton_node.pay(wallet.address, 1)
    ton_node.pay(wallet.address, 1, forward_nanotons=0)
    # Only a contract can take it: the first message sent makes the wallet one.
    ton_node.pay(ton_node.payer.address, 1, payer=wallet)
    ton_node.pay(wallet.address, 1, forward_nanotons=NANOTONS // 50)
    rows = ton_node.get("transactions", account=wallet.address, sort="asc")
    told = [row["description"] for row in rows["transactions"] if row["in_msg"]["opcode"] == OP_NOTIFICATION]
    assert [each["aborted"] for each in told] == [True, False]
    assert told[0]["compute_ph"] == {"skipped": True, "reason": "no_gas"}


def test_four_transfers_go_in_one_message(ton_node: TonNode) -> None:
    wallet = ton_node.create_wallet()
    hashes = ton_node.send([Payment(wallet.address, units) for units in (1, 2, 3, 4)])
    assert len(set(hashes)) == 4
    rows = listed(ton_node, wallet.address)
    assert [row["amount"] for row in rows] == ["4", "3", "2", "1"]
    assert len({row["trace_id"] for row in rows}) == 1
