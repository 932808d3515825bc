# pragma version 0.4.3
# pragma evm-version paris
# pragma optimize gas
"""
@title A token whose transfer burns every unit of gas it is given
"""


@view
@external
def balanceOf(account: address) -> uint256:
    return 1


@external
def transfer(to: address, amount: uint256) -> bool:
    digest: bytes32 = empty(bytes32)
    for i: uint256 in range(max_value(uint256)):
        digest = keccak256(digest)
    return digest != empty(bytes32)
