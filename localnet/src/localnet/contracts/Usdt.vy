# pragma version 0.4.3
# pragma evm-version paris
# pragma optimize gas
"""
@title A six-decimal stablecoin whose transfer returns nothing, as USDT on Ethereum does
@notice Anybody may mint: it is worth nothing.
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
def transfer(to: address, amount: uint256):
    self._move(msg.sender, to, amount)


@external
def transferFrom(owner: address, to: address, amount: uint256):
    self.allowance[owner][msg.sender] -= amount
    self._move(owner, to, amount)


@external
def approve(spender: address, amount: uint256):
    self.allowance[msg.sender][spender] = amount
    log Approval(owner=msg.sender, spender=spender, value=amount)


@internal
def _move(sender: address, to: address, amount: uint256):
    self.balanceOf[sender] -= amount
    self.balanceOf[to] += amount
    log Transfer(sender=sender, receiver=to, value=amount)
