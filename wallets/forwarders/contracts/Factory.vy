# pragma version 0.4.3
# pragma evm-version paris
# pragma optimize gas
"""
@title ForwarderFactory
@notice Makes deposit addresses. A deposit address is fixed by a destination (the merchant's receiving wallet) and a
        nonce; it is known, and can be paid, before anything is deployed there.
@dev Anybody may call flush and flush_many. That is safe because the destination is part of the salt and so of the
     address: naming another destination names another forwarder. No caller has any right that others lack, and no key
     exists that could move a deposit elsewhere.
     One factory serves all merchants. It is deployed by CREATE2 through the deterministic deployer and takes nothing
     but the forwarder's code, so its address, and with it every deposit address, is the same on every EVM chain.
"""

struct Item:
    destination: address
    nonce: bytes32

interface Forwarder:
    def sweep(token: address, to: address): nonpayable

# There is no event of success: it would be the word of the token that was called. The token's own Transfer event shows
# what moved, and costs nothing more.
event FlushFailed:
    forwarder: indexed(address)
    destination: indexed(address)
    token: indexed(address)

MAX_ITEMS: constant(uint256) = 150

# Gas for one sweep of a batch: several times what USDC or USDT needs, and all that a hostile token can burn an item.
SWEEP_GAS: constant(uint256) = 300_000

# A call gets at most 63/64 of the gas that is left (EIP-150), and the call itself costs some.
GAS_FLOOR: constant(uint256) = SWEEP_GAS + SWEEP_GAS // 16

IMPLEMENTATION: public(immutable(address))
CLONE_CODE_HASH: immutable(bytes32)


@deploy
def __init__(forwarder_code: Bytes[4096]):
    # The implementation must know the factory and the factory the implementation. Creating it here, as this
    # contract's first creation, makes its address depend on this one alone and breaks the circle.
    implementation: address = raw_create(forwarder_code)
    IMPLEMENTATION = implementation
    # Byte for byte what create_minimal_proxy_to deploys: EIP-1167 with the compiler's 9-byte constructor.
    CLONE_CODE_HASH = keccak256(
        concat(
            x"602d3d8160093d39f3363d3d373d3d3d363d73",
            convert(implementation, bytes20),
            x"5af43d82803e903d91602b57fd5bf3",
        )
    )


@view
@external
def address_of(destination: address, nonce: bytes32) -> address:
    """
    @notice The deposit address for a destination and a nonce, deployed or not.
    """
    return self._address_of(self._salt(destination, nonce))


@external
def flush(destination: address, nonce: bytes32, token: address):
    """
    @notice Send everything a deposit address holds of one token (zero address: native coin) to its destination.
    @dev Deploys the forwarder when it has no code yet. Reverts when the token refuses; an empty balance is no error.
    """
    extcall Forwarder(self._deployed(destination, nonce)).sweep(token, destination)


@external
def flush_many(items: DynArray[Item, MAX_ITEMS], token: address):
    """
    @notice Flush many deposit addresses of one token. An item that fails is logged and does not stop the others.
    """
    for item: Item in items:
        forwarder: address = self._deployed(item.destination, item.nonce)
        # Because a failed item is no failure of the transaction, a caller (or a node's gas estimate, which searches
        # for the least gas that "succeeds") could starve the sweep of gas and still get status 1 with nothing paid.
        assert msg.gas > GAS_FLOOR, "gas"
        swept: bool = raw_call(
            forwarder,
            abi_encode(token, item.destination, method_id=method_id("sweep(address,address)")),
            gas=SWEEP_GAS,
            revert_on_failure=False,
        )
        if not swept:
            log FlushFailed(forwarder=forwarder, destination=item.destination, token=token)


@pure
@internal
def _salt(destination: address, nonce: bytes32) -> bytes32:
    return keccak256(abi_encode(destination, nonce))


@view
@internal
def _address_of(salt: bytes32) -> address:
    digest: bytes32 = keccak256(concat(x"ff", convert(self, bytes20), salt, CLONE_CODE_HASH))
    return convert(convert(digest, uint256) & (2**160 - 1), address)


@internal
def _deployed(destination: address, nonce: bytes32) -> address:
    salt: bytes32 = self._salt(destination, nonce)
    forwarder: address = self._address_of(salt)
    if not forwarder.is_contract:
        # Were the two ever to differ, buyers would have paid to an address that nobody can deploy.
        assert create_minimal_proxy_to(IMPLEMENTATION, salt=salt) == forwarder, "address"
    return forwarder
