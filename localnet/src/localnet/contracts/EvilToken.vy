# pragma version 0.4.3
# pragma evm-version paris
# pragma optimize gas
"""
@title A token that attacks the forwarder which is about to send it
@notice Always claims a balance, so that a flush calls its transfer. From inside that call it tries to take
        the forwarder's good tokens for the thief, and re-enters the factory, honestly and not.
"""

factory: address
good: address
thief: address
destination: address
nonce: bytes32

attempts: public(uint256)
thefts: public(uint256)
reentrancies: public(uint256)


@deploy
def __init__(factory: address, good: address, thief: address, destination: address, nonce: bytes32):
    self.factory = factory
    self.good = good
    self.thief = thief
    self.destination = destination
    self.nonce = nonce


@view
@external
def balanceOf(account: address) -> uint256:
    return 1


@external
def transfer(to: address, amount: uint256) -> bool:
    self.attempts += 1
    if raw_call(
        msg.sender,
        abi_encode(self.good, self.thief, method_id=method_id("sweep(address,address)")),
        revert_on_failure=False,
    ):
        self.thefts += 1
    self._flush(self.thief)
    if self._flush(self.destination):
        self.reentrancies += 1
    return True


@internal
def _flush(destination: address) -> bool:
    return raw_call(
        self.factory,
        abi_encode(
            destination, self.nonce, self.good, method_id=method_id("flush(address,bytes32,address)")
        ),
        revert_on_failure=False,
    )
