# pragma version 0.4.3
# pragma evm-version paris
# pragma optimize gas
"""
@title A six-decimal stablecoin for local chains
@notice Like USDC where the gateway looks: transfer answers true, and an issuer can block an address.
        Anybody may mint, and anybody may block: it is worth nothing.
"""

event Transfer:
    sender: indexed(address)
    receiver: indexed(address)
    value: uint256

event Approval:
    owner: indexed(address)
    spender: indexed(address)
    value: uint256

decimals: public(constant(uint8)) = 6

name: public(String[32])
symbol: public(String[16])
totalSupply: public(uint256)
balanceOf: public(HashMap[address, uint256])
allowance: public(HashMap[address, HashMap[address, uint256]])
blocked: public(HashMap[address, bool])

# While set, transfer answers false and moves nothing: the old way of refusing.
refuses: public(bool)

# How many hashes each movement computes first: makes it expensive, up to burning all gas it is given.
rounds: public(uint256)


@deploy
def __init__(name: String[32], symbol: String[16]):
    self.name = name
    self.symbol = symbol


@external
def mint(to: address, amount: uint256):
    self.totalSupply += amount
    self.balanceOf[to] += amount
    log Transfer(sender=empty(address), receiver=to, value=amount)


@external
def set_blocked(account: address, blocked: bool):
    self.blocked[account] = blocked


@external
def set_refuses(refuses: bool):
    self.refuses = refuses


@external
def set_rounds(rounds: uint256):
    self.rounds = rounds


@external
def transfer(to: address, amount: uint256) -> bool:
    if self.refuses:
        return False
    self._move(msg.sender, to, amount)
    return True


@external
def transferFrom(owner: address, to: address, amount: uint256) -> bool:
    self.allowance[owner][msg.sender] -= amount
    self._move(owner, to, amount)
    return True


@external
def approve(spender: address, amount: uint256) -> bool:
    self.allowance[msg.sender][spender] = amount
    log Approval(owner=msg.sender, spender=spender, value=amount)
    return True


@internal
def _move(sender: address, to: address, amount: uint256):
    digest: bytes32 = empty(bytes32)
    for i: uint256 in range(self.rounds, bound=max_value(uint256)):
        digest = keccak256(digest)
    assert not self.blocked[sender] and not self.blocked[to], "blocked"
    self.balanceOf[sender] -= amount
    self.balanceOf[to] += amount
    log Transfer(sender=sender, receiver=to, value=amount)
