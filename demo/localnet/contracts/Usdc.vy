# pragma version 0.4.3
# pragma evm-version paris
# pragma optimize gas
"""
@title A six-decimal stablecoin that is moved by signed authorisations (EIP-3009), as Circle's USDC is
@notice It has no constructor and no immutable values, so that its code can be laid at the real token's address.
        It reverts in Circle's words. Anybody may mint: it is worth nothing.
"""

interface Wallet:
    def isValidSignature(digest: bytes32, signature: Bytes[SIGNATURE]) -> bytes4: view

event Transfer:
    sender: indexed(address)
    receiver: indexed(address)
    value: uint256

event Approval:
    owner: indexed(address)
    spender: indexed(address)
    value: uint256

event AuthorizationUsed:
    authorizer: indexed(address)
    nonce: indexed(bytes32)

decimals: public(constant(uint8)) = 6
name: public(constant(String[8])) = "USD Coin"
symbol: public(constant(String[4])) = "USDC"
version: public(constant(String[1])) = "2"

totalSupply: public(uint256)
balanceOf: public(HashMap[address, uint256])
allowance: public(HashMap[address, HashMap[address, uint256]])
authorizationState: public(HashMap[address, HashMap[bytes32, bool]])

DOMAIN_TYPE: constant(bytes32) = keccak256(
    "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
)
BY_WALLET: constant(bytes4) = method_id(
    "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)", output_type=bytes4
)
MAGIC: constant(bytes4) = 0x1626ba7e
# As SmartWallet's are: the length of what is cut out of a call must be known beforehand.
SIGNATURE: constant(uint256) = 66
ARGUMENTS: constant(uint256) = 11 * 32
AUTHORIZATION_TYPE: constant(bytes32) = keccak256(
    "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
)


@external
def mint(to: address, amount: uint256):
    self.totalSupply += amount
    self.balanceOf[to] += amount
    log Transfer(sender=empty(address), receiver=to, value=amount)


@external
def transfer(to: address, amount: uint256) -> bool:
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


@external
def transferWithAuthorization(
    payer: address,
    to: address,
    amount: uint256,
    valid_after: uint256,
    valid_before: uint256,
    nonce: bytes32,
    v: uint8,
    r: bytes32,
    s: bytes32,
):
    digest: bytes32 = self._open(payer, to, amount, valid_after, valid_before, nonce)
    signer: address = ecrecover(digest, v, r, s)
    assert signer == payer and signer != empty(address), "FiatTokenV2: invalid signature"
    self._carry_out(payer, to, amount, nonce)


@external
def __default__():
    """
    @notice transferWithAuthorization by a wallet that is a contract and judges the signature itself (ERC-1271)
    @dev Vyper knows no two functions of one name
    """
    assert convert(slice(msg.data, 0, 4), bytes4) == BY_WALLET
    payer: address = empty(address)
    to: address = empty(address)
    amount: uint256 = 0
    valid_after: uint256 = 0
    valid_before: uint256 = 0
    nonce: bytes32 = empty(bytes32)
    signature: Bytes[SIGNATURE] = b""
    payer, to, amount, valid_after, valid_before, nonce, signature = abi_decode(
        slice(msg.data, 4, ARGUMENTS), (address, address, uint256, uint256, uint256, bytes32, Bytes[SIGNATURE])
    )
    digest: bytes32 = self._open(payer, to, amount, valid_after, valid_before, nonce)
    assert payer.is_contract and staticcall Wallet(payer).isValidSignature(digest, signature) == MAGIC, "FiatTokenV2: invalid signature"
    self._carry_out(payer, to, amount, nonce)


@view
@internal
def _open(
    payer: address, to: address, amount: uint256, valid_after: uint256, valid_before: uint256, nonce: bytes32
) -> bytes32:
    assert block.timestamp > valid_after, "FiatTokenV2: authorization is not yet valid"
    assert block.timestamp < valid_before, "FiatTokenV2: authorization is expired"
    assert not self.authorizationState[payer][nonce], "FiatTokenV2: authorization is used or canceled"
    said: bytes32 = keccak256(
        abi_encode(AUTHORIZATION_TYPE, payer, to, amount, valid_after, valid_before, nonce)
    )
    return keccak256(concat(b"\x19\x01", self._domain(), said))


@internal
def _carry_out(payer: address, to: address, amount: uint256, nonce: bytes32):
    self.authorizationState[payer][nonce] = True
    log AuthorizationUsed(authorizer=payer, nonce=nonce)
    self._move(payer, to, amount)


@view
@external
def DOMAIN_SEPARATOR() -> bytes32:
    return self._domain()


@view
@internal
def _domain() -> bytes32:
    return keccak256(
        abi_encode(DOMAIN_TYPE, keccak256(name), keccak256(version), chain.id, self)
    )


@internal
def _move(sender: address, to: address, amount: uint256):
    assert self.balanceOf[sender] >= amount, "ERC20: transfer amount exceeds balance"
    self.balanceOf[sender] -= amount
    self.balanceOf[to] += amount
    log Transfer(sender=sender, receiver=to, value=amount)
