# pragma version 0.4.3
# pragma evm-version paris
# pragma optimize gas
"""
@title A wallet that is a contract: it vouches for what its owner signed (ERC-1271), and calls whatever the owner says
@notice Its signatures are the owner's 65 bytes and one more, as real ones are longer than a key's. It can be told to burn
        gas while it thinks, and to think again from some block on.
"""

MAGIC: constant(bytes4) = 0x1626ba7e

owner: public(address)
rounds: public(uint256)
honest_until: public(uint256)


@deploy
def __init__(owner: address):
    self.owner = owner
    self.honest_until = max_value(uint256)


@external
def burn(rounds: uint256):
    self.rounds = rounds


@external
def turn_at(height: uint256):
    self.honest_until = height


@external
def call(to: address, data: Bytes[1024]):
    assert msg.sender == self.owner
    raw_call(to, data)


@external
def call_all(to: address, calls: DynArray[Bytes[1024], 2]):
    assert msg.sender == self.owner
    for data: Bytes[1024] in calls:
        raw_call(to, data)


@view
@external
def isValidSignature(digest: bytes32, signature: Bytes[256]) -> bytes4:
    spun: bytes32 = digest
    for i: uint256 in range(self.rounds, bound=100_000):
        spun = keccak256(spun)
    if len(signature) != 66 or block.number >= self.honest_until:
        return empty(bytes4)
    r: bytes32 = extract32(signature, 0)
    s: bytes32 = extract32(signature, 32)
    v: uint256 = convert(slice(signature, 64, 1), uint256)
    if ecrecover(digest, v, r, s) != self.owner:
        return empty(bytes4)
    return MAGIC
