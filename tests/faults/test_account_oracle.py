"""The oracle of the fault tests sees a payment that was credited to somebody else's checkout."""

import pytest

from tests.faults.accountinstallation import AccountInstallation
from tests.faults.oracle import audit, settle

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.xdist_group("faults")]

SWAP = """
    UPDATE checkouts_payment SET checkout_id = (SELECT id FROM checkouts_checkout WHERE public_id = %s)
    WHERE transfer_id = (SELECT id FROM wallets_transfer WHERE tx_hash = %s)
"""


def test_the_oracle_sees_a_payment_that_is_credited_to_another_checkout(accounts: AccountInstallation) -> None:
    one, other = accounts.pay_new()
    settle(accounts)
    with accounts.database.connection.transaction(force_rollback=True):
        accounts.database.rows(SWAP, other.due.public_id, one.tx)
        assert any("was meant for" in problem for problem in audit(accounts))
    assert list(audit(accounts)) == []
