"""The demo's wallets: a real transfer of exactly so much on each family's node, with what its payment link asks for."""

import multiprocessing

from demo.localnet.anvil import Anvil
from tests.demo.addresses import evm_balance, evm_entry, pay_one

UNITS = 12_340_017
AMOUNT = "12.340017"
BUYER = "0x000000000000000000000000000000000000dEaD"


def test_wallets_of_two_processes_never_sign_with_one_number(base_node: Anvil) -> None:
    jobs = [
        multiprocessing.get_context("spawn").Process(target=pay_one, args=(evm_entry(base_node), BUYER))
        for _ in range(3)
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join(180)
    assert [job.exitcode for job in jobs] == [0, 0, 0]
    assert evm_balance(base_node)(BUYER) == 3_000_000
