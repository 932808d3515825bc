# pragma version 0.4.3
# pragma evm-version paris
# pragma optimize gas
"""
@title Forwarder
@notice The code behind every deposit address. It can do one thing: send what it holds where its factory says.
@dev Deployed once, by the factory's constructor. Each deposit address is an EIP-1167 clone that runs this code on its
     own balance. The factory's address is an immutable, kept in code and not in storage: a clone reads it without
     any set-up call, so there is no moment at which somebody else could set a clone up.
     There is no owner, no upgrade, no delegatecall and no self-destruct: nothing here can change after deployment.
"""
from ethereum.ercs import IERC20

FACTORY: public(immutable(address))


@deploy
def __init__():
    FACTORY = msg.sender


@external
@payable
def __default__():
    # Native coin sent to a deposit address after its clone exists must not bounce: sweep can send it on.
    pass


@external
def sweep(token: address, to: address):
    """
    @notice Send the whole balance of one token to `to`. The zero address stands for the native coin.
    @dev The factory derives `to` from this clone's own salt. A caller other than the factory could name any receiver.
         The balance is read and not passed in, so that no caller can leave a part of it behind.
    """
    assert msg.sender == FACTORY, "factory only"
    if token == empty(address):
        amount: uint256 = self.balance
        if amount > 0:
            # Reverts when the receiver refuses. What it calls from here finds an empty balance.
            raw_call(to, b"", value=amount)
        return
    held: uint256 = staticcall IERC20(token).balanceOf(self)
    if held > 0:
        # USDT on Ethereum returns nothing (read as true); a token that answers false has not paid (revert).
        assert extcall IERC20(token).transfer(to, held, default_return_value=True), "transfer refused"
