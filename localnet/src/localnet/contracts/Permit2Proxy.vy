# pragma version 0.4.3
# pragma evm-version paris
# pragma optimize gas
"""
@title What x402ExactPermit2Proxy does when it is asked to settle, written from the standard's published ABI and witness
@notice A stand-in: no package carries the real one's code, only its ABI (npm @x402/evm, PyPI x402 2.25). Permit2 itself is
        real. It has no constructor and no immutable values, so that its code can be laid at the real proxy's address.
        Of the published ABI it lacks
        - the views PERMIT2, WITNESS_TYPEHASH and WITNESS_TYPE_STRING, which Florin does not read;
        - the errors InvalidPermit2Address (of a constructor) and ReentrancyGuardReentrantCall: what is entered twice reverts
          without words.
        Signatures have 4,096 bytes at most. The order of its checks is ours, for the ABI tells none.
"""

event Settled:
    pass

event SettledWithPermit:
    pass

struct TokenPermissions:
    token: address
    amount: uint256

struct PermitTransferFrom:
    permitted: TokenPermissions
    nonce: uint256
    deadline: uint256

struct TransferDetails:
    to: address
    requestedAmount: uint256

struct Witness:
    to: address
    validAfter: uint256

struct OwnPermit:
    value: uint256
    deadline: uint256
    r: bytes32
    s: bytes32
    v: uint8

interface SignatureTransfer:
    def permitWitnessTransferFrom(
        permit: PermitTransferFrom,
        details: TransferDetails,
        owner: address,
        witness: bytes32,
        witness_type: String[128],
        signature: Bytes[4096],
    ): nonpayable

PERMIT2: constant(address) = 0x000000000022D473030F116dDEE9F6B43aC78BA3
WITNESS_TYPE: constant(bytes32) = keccak256("Witness(address to,uint256 validAfter)")
# How Permit2 completes the type that payers sign.
SIGNED_TYPE: constant(String[128]) = (
    "Witness witness)TokenPermissions(address token,uint256 amount)Witness(address to,uint256 validAfter)"
)


@external
@nonreentrant
def settle(permit: PermitTransferFrom, owner: address, witness: Witness, signature: Bytes[4096]):
    self._settle(permit, owner, witness, signature)
    log Settled()


@external
@nonreentrant
def settleWithPermit(
    own: OwnPermit, permit: PermitTransferFrom, owner: address, witness: Witness, signature: Bytes[4096]
):
    self._allow(own, permit.permitted, owner)
    self._settle(permit, owner, witness, signature)
    log SettledWithPermit()


@internal
def _settle(permit: PermitTransferFrom, owner: address, witness: Witness, signature: Bytes[4096]):
    if permit.permitted.amount == 0:
        raw_revert(method_id("InvalidAmount()"))
    if owner == empty(address):
        raw_revert(method_id("InvalidOwner()"))
    if witness.to == empty(address):
        raw_revert(method_id("InvalidDestination()"))
    if block.timestamp < witness.validAfter:
        raw_revert(method_id("PaymentTooEarly()"))
    said: bytes32 = keccak256(abi_encode(WITNESS_TYPE, witness.to, witness.validAfter))
    details: TransferDetails = TransferDetails(to=witness.to, requestedAmount=permit.permitted.amount)
    extcall SignatureTransfer(PERMIT2).permitWitnessTransferFrom(
        permit, details, owner, said, SIGNED_TYPE, signature
    )


@internal
def _allow(own: OwnPermit, permitted: TokenPermissions, owner: address):
    if own.value != permitted.amount:
        raw_revert(method_id("Permit2612AmountMismatch()"))
    # It goes on where the token refuses: another one may have shown it the permit before.
    is_taken: bool = raw_call(
        permitted.token,
        abi_encode(
            owner,
            PERMIT2,
            own.value,
            own.deadline,
            own.v,
            own.r,
            own.s,
            method_id=method_id("permit(address,address,uint256,uint256,uint8,bytes32,bytes32)"),
        ),
        revert_on_failure=False,
    )
