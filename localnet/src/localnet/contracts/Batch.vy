# pragma version 0.4.3
# pragma evm-version paris
# pragma optimize gas
"""
@title Hundreds of transfers in one transaction, as an exchange pays out
@notice Spends the caller's allowance; the token must answer true.
"""
from ethereum.ercs import IERC20


@external
def transfer_many(token: address, recipients: DynArray[address, 500], amounts: DynArray[uint256, 500]):
    assert len(recipients) == len(amounts), "lengths"
    for i: uint256 in range(len(recipients), bound=500):
        assert extcall IERC20(token).transferFrom(msg.sender, recipients[i], amounts[i])
