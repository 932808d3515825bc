# pragma version 0.4.3
# pragma evm-version paris
# pragma optimize gas
"""
@title A six-decimal stablecoin with EIP-3009 as Circle's FiatTokenV2_2 has it: transfer, receive and cancel by signature, and
       permits of a key (EIP-2612)
@notice It has no constructor and no immutable values, so that its code can be laid at the real token's address.
        It reverts in Circle's words. Anybody may mint, and block an address: it is worth nothing. What Circle's has beside that
        is left out: permits of contract wallets, pausing, roles and upgrades. Signatures have 65 or 66 bytes, Circle's any length that
        a contract wallet likes: shorter ones revert here without words.
"""

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

event AuthorizationCanceled:
    authorizer: indexed(address)
    nonce: indexed(bytes32)

struct Terms:
    payer: address
    to: address
    amount: uint256
    valid_after: uint256
    valid_before: uint256
    nonce: bytes32

decimals: public(constant(uint8)) = 6
name: public(constant(String[8])) = "USD Coin"
symbol: public(constant(String[4])) = "USDC"
version: public(constant(String[1])) = "2"

totalSupply: public(uint256)
balanceOf: public(HashMap[address, uint256])
allowance: public(HashMap[address, HashMap[address, uint256]])
authorizationState: public(HashMap[address, HashMap[bytes32, bool]])
isBlacklisted: public(HashMap[address, bool])
nonces: public(HashMap[address, uint256])

DOMAIN_TYPE: constant(bytes32) = keccak256(
    "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
)
# Vyper knows no two functions of one name: those that take the signature as bytes are in __default__.
TRANSFER_BY_BYTES: constant(bytes4) = method_id(
    "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)", output_type=bytes4
)
RECEIVE_BY_BYTES: constant(bytes4) = method_id(
    "receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)", output_type=bytes4
)
CANCEL_BY_BYTES: constant(bytes4) = method_id("cancelAuthorization(address,bytes32,bytes)", output_type=bytes4)
MAGIC: constant(bytes32) = 0x1626ba7e00000000000000000000000000000000000000000000000000000000
# As SmartWallet's are: the length of what is cut out of a call must be known beforehand.
SIGNATURE: constant(uint256) = 66
KEY_SIGNATURE: constant(uint256) = 65
# 0x7fff…20a0, half the curve's order (EIP-2).
LARGEST_S: constant(uint256) = 57896044618658097711785492504343953926418782139537452191302581570759080747168
ARGUMENTS: constant(uint256) = 11 * 32
CANCEL_ARGUMENTS: constant(uint256) = 7 * 32
TRANSFER_TYPE: constant(bytes32) = keccak256(
    "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
)
RECEIVE_TYPE: constant(bytes32) = keccak256(
    "ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
)
CANCEL_TYPE: constant(bytes32) = keccak256("CancelAuthorization(address authorizer,bytes32 nonce)")
PERMIT_TYPE: constant(bytes32) = keccak256(
    "Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)"
)


@external
def mint(to: address, amount: uint256):
    self.totalSupply += amount
    self.balanceOf[to] += amount
    log Transfer(sender=empty(address), receiver=to, value=amount)


@external
def blacklist(account: address):
    self.isBlacklisted[account] = True


@external
def unBlacklist(account: address):
    self.isBlacklisted[account] = False


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
def permit(owner: address, spender: address, amount: uint256, deadline: uint256, v: uint8, r: bytes32, s: bytes32):
    assert deadline >= block.timestamp, "FiatTokenV2: permit is expired"
    said: bytes32 = keccak256(abi_encode(PERMIT_TYPE, owner, spender, amount, self.nonces[owner], deadline))
    self.nonces[owner] += 1
    self._require_signed(owner, said, self._packed(v, r, s))
    self.allowance[owner][spender] = amount
    log Approval(owner=owner, spender=spender, value=amount)


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
    terms: Terms = Terms(
        payer=payer, to=to, amount=amount, valid_after=valid_after, valid_before=valid_before, nonce=nonce
    )
    self._carry_out(TRANSFER_TYPE, terms, self._packed(v, r, s))


@external
def receiveWithAuthorization(
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
    terms: Terms = Terms(
        payer=payer, to=to, amount=amount, valid_after=valid_after, valid_before=valid_before, nonce=nonce
    )
    self._carry_out(RECEIVE_TYPE, terms, self._packed(v, r, s))


@external
def cancelAuthorization(authorizer: address, nonce: bytes32, v: uint8, r: bytes32, s: bytes32):
    self._cancel(authorizer, nonce, self._packed(v, r, s))


@external
def __default__():
    selector: bytes4 = convert(slice(msg.data, 0, 4), bytes4)
    if selector == CANCEL_BY_BYTES:
        authorizer: address = empty(address)
        number: bytes32 = empty(bytes32)
        given: Bytes[SIGNATURE] = b""
        authorizer, number, given = abi_decode(
            slice(msg.data, 4, CANCEL_ARGUMENTS), (address, bytes32, Bytes[SIGNATURE])
        )
        self._cancel(authorizer, number, given)
        return
    assert selector == TRANSFER_BY_BYTES or selector == RECEIVE_BY_BYTES
    terms: Terms = empty(Terms)
    signature: Bytes[SIGNATURE] = b""
    terms.payer, terms.to, terms.amount, terms.valid_after, terms.valid_before, terms.nonce, signature = abi_decode(
        slice(msg.data, 4, ARGUMENTS), (address, address, uint256, uint256, uint256, bytes32, Bytes[SIGNATURE])
    )
    self._carry_out(TRANSFER_TYPE if selector == TRANSFER_BY_BYTES else RECEIVE_TYPE, terms, signature)


@internal
def _carry_out(type_hash: bytes32, terms: Terms, signature: Bytes[SIGNATURE]):
    self._require_unblocked(terms.payer, terms.to)
    if type_hash == RECEIVE_TYPE:
        assert terms.to == msg.sender, "FiatTokenV2: caller must be the payee"
    assert block.timestamp > terms.valid_after, "FiatTokenV2: authorization is not yet valid"
    assert block.timestamp < terms.valid_before, "FiatTokenV2: authorization is expired"
    self._require_unused(terms.payer, terms.nonce)
    self._require_signed(terms.payer, keccak256(abi_encode(type_hash, terms)), signature)
    self.authorizationState[terms.payer][terms.nonce] = True
    log AuthorizationUsed(authorizer=terms.payer, nonce=terms.nonce)
    self._move(terms.payer, terms.to, terms.amount)


@internal
def _cancel(authorizer: address, nonce: bytes32, signature: Bytes[SIGNATURE]):
    self._require_unused(authorizer, nonce)
    self._require_signed(authorizer, keccak256(abi_encode(CANCEL_TYPE, authorizer, nonce)), signature)
    self.authorizationState[authorizer][nonce] = True
    log AuthorizationCanceled(authorizer=authorizer, nonce=nonce)


@view
@internal
def _require_unblocked(sender: address, to: address):
    assert not (self.isBlacklisted[sender] or self.isBlacklisted[to]), "Blacklistable: account is blacklisted"


@view
@internal
def _require_unused(authorizer: address, nonce: bytes32):
    assert not self.authorizationState[authorizer][nonce], "FiatTokenV2: authorization is used or canceled"


@view
@internal
def _require_signed(signer: address, said: bytes32, signature: Bytes[SIGNATURE]):
    digest: bytes32 = keccak256(concat(b"\x19\x01", self._domain(), said))
    is_signed: bool = False
    if signer.is_contract:
        is_signed = self._is_vouched_for(signer, digest, signature)
    else:
        is_signed = self._signer_of(digest, signature) == signer
    assert is_signed, "FiatTokenV2: invalid signature"


@view
@internal
def _is_vouched_for(wallet: address, digest: bytes32, signature: Bytes[SIGNATURE]) -> bool:
    success: bool = False
    answer: Bytes[32] = b""
    success, answer = raw_call(
        wallet,
        abi_encode(digest, signature, method_id=method_id("isValidSignature(bytes32,bytes)")),
        max_outsize=32,
        is_static_call=True,
        revert_on_failure=False,
    )
    return success and len(answer) == 32 and convert(answer, bytes32) == MAGIC


@view
@internal
def _signer_of(digest: bytes32, signature: Bytes[SIGNATURE]) -> address:
    assert len(signature) == KEY_SIGNATURE, "ECRecover: invalid signature length"
    r: bytes32 = extract32(signature, 0)
    s: uint256 = extract32(signature, 32, output_type=uint256)
    v: uint256 = convert(slice(signature, 64, 1), uint256)
    assert s <= LARGEST_S, "ECRecover: invalid signature 's' value"
    assert v == 27 or v == 28, "ECRecover: invalid signature 'v' value"
    signer: address = ecrecover(digest, v, convert(r, uint256), s)
    assert signer != empty(address), "ECRecover: invalid signature"
    return signer


@pure
@internal
def _packed(v: uint8, r: bytes32, s: bytes32) -> Bytes[KEY_SIGNATURE]:
    return concat(r, s, slice(convert(v, bytes32), 31, 1))


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
    self._require_unblocked(sender, to)
    assert self.balanceOf[sender] >= amount, "ERC20: transfer amount exceeds balance"
    self.balanceOf[sender] -= amount
    self.balanceOf[to] += amount
    log Transfer(sender=sender, receiver=to, value=amount)
