"""Sets the merchants' own wallets, for buyers and for machines (x402), and creates deposit addresses.

Addresses that lose what they receive are refused.
"""

from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import Q

from accounts.audit.actors import SYSTEM, Actor
from accounts.audit.service import record
from accounts.models import Merchant
from gateway.core.api.errors import InvalidRequestError
from wallets import selectors
from wallets.chains import registry
from wallets.chains.base import AddressError
from wallets.chains.family import ChainSpec
from wallets.models import DepositAddress, ReceivingWallet, WalletProof
from wallets.networks import address_on, chain_spec, chains
from wallets.receiving.claims import ProofRequiredError, refuse_own, refuse_unproven
from wallets.receiving.mails import tell_machine_wallet
from wallets.states import ClaimKind


def expect_payments(chain: str, *, address: str, until: datetime) -> None:
    """Make watchers read a merchant's wallet first, and its chain at full pace, until a time; a later time already set stays.

    `address` is in canonical form; a replaced wallet counts too.
    """
    ReceivingWallet.objects.filter(
        Q(expected_until=None) | Q(expected_until__lt=until), chain=chain, address=address
    ).update(expected_until=until)


def expect_deposit(nonce: bytes, *, watched_until: datetime) -> None:
    """Make watchers read a checkout's chains at full pace for longer; a later `watched_until` already set stays.

    The caller holds the lock of the checkout that the nonce belongs to.
    """
    deposits = DepositAddress.objects.filter(nonce=nonce, watched_until__lt=watched_until)
    deposits.update(watched_until=watched_until)


def insert_deposits(
    source: str, *, key: str, destination: str, nonce: str, merchant: str, mode: str, now: str, watched_until: str
) -> str:
    """Return SQL that inserts a deposit address for each row of `source`, as part of the caller's statement."""
    return f"""
        INSERT INTO wallets_depositaddress (key, destination, nonce, merchant_id, mode, created_at, watched_until)
        SELECT {key}, {destination}, {nonce}, {merchant}, {mode}, {now}, {watched_until} FROM {source}
    """  # noqa: S608 - only our own text is put in


@transaction.atomic
def set_receiving_wallet(
    merchant: Merchant,
    *,
    chain: str,
    address: str,
    now: datetime,
    actor: Actor = SYSTEM,
    proof: WalletProof | None = None,
) -> ReceivingWallet:
    """Make `address` the merchant's one wallet on a chain; the previous one is retired.

    Existing deposit addresses keep paying the wallet they were derived for.
    Raises InvalidRequestError (chain_unsupported, address_invalid) and, if the chain identifies payments by their
    amount, ConflictError (duplicate, proof_required) as `refuse_own` and `refuse_unproven` do; with `proof`, a proof of
    this address by this merchant, proof_required is raised only if another merchant is faster.
    """
    canonical = usable_address(chain, address)
    Merchant.objects.select_for_update(no_key=True).get(pk=merchant.pk)
    present = ReceivingWallet.objects.of_checkouts().filter(retired_at=None)
    current = present.filter(merchant=merchant, chain=chain).first()
    if current is not None and current.address == canonical:
        return current
    if current is not None:
        ReceivingWallet.objects.filter(pk=current.pk).update(retired_at=now)
    refuse_own(merchant, ClaimKind.CHECKOUT, chain=chain, address=canonical, now=now)
    if proof is None:
        refuse_unproven(merchant, chain=chain, address=canonical, now=now)
    wallet = _create_wallet(merchant, chain, canonical, ClaimKind.CHECKOUT, now=now, proof=proof)
    record(
        merchant,
        action="receiving_wallet.set",
        actor=actor,
        object_id=chain,
        before={"address": current.address} if current else None,
        after={"address": canonical},
        now=now,
    )
    transaction.on_commit(selectors.forget)
    return wallet


@transaction.atomic
def set_machine_wallet(
    merchant: Merchant, *, chain: str, address: str, actor: Actor, now: datetime, proof: WalletProof | None = None
) -> ReceivingWallet:
    """Make machines pay `address` on a chain without forwarders (Solana, TON, Tron) from now on, and mail all owners.

    Unlike a change of the buyers' wallet it takes effect at once: each request tells machines where to pay, and the old
    wallet is accepted for two more hours. Raises InvalidRequestError
    (chain_unsupported, address_invalid), ConflictError (duplicate) if the merchant's buyers pay there (see
    `refuse_own`), and ProofRequiredError if another merchant receives there (see `refuse_unproven`); with `proof`, only if
    another merchant is faster.
    """
    canonical = machine_address(chain, address)
    Merchant.objects.select_for_update(no_key=True).get(pk=merchant.pk)
    present = ReceivingWallet.objects.of_machines().filter(retired_at=None)
    current = present.filter(merchant=merchant, chain=chain).first()
    if current is not None and current.address == canonical:
        return current
    refuse_own(merchant, ClaimKind.X402, chain=chain, address=canonical, now=now)
    if proof is None:
        refuse_unproven(merchant, chain=chain, address=canonical, now=now)
    if current is not None:
        ReceivingWallet.objects.filter(pk=current.pk).update(retired_at=now)
    wallet = _create_wallet(merchant, chain, canonical, ClaimKind.X402, now=now, proof=proof)
    before = current.address if current else None
    record(
        merchant,
        action="x402.wallet_set",
        actor=actor,
        object_id=chain,
        before={"address": before} if before else None,
        after={"address": canonical},
        now=now,
    )
    tell_machine_wallet(wallet, actor=actor, before=before, now=now)
    return wallet


def machine_address(chain: str, address: str) -> str:
    """Return an address that machines can pay, in canonical form. Raises InvalidRequestError as `usable_address` does."""
    canonical = usable_address(chain, address)
    if chain_spec(chain).family.has_forwarders:
        raise InvalidRequestError(
            f"On {chain} machines pay a forwarder to your receiving wallet; there is nothing to set.",
            param="chain",
            code="chain_unsupported",
        )
    return canonical


def _create_wallet(
    merchant: Merchant, chain: str, address: str, purpose: ClaimKind, *, now: datetime, proof: WalletProof | None
) -> ReceivingWallet:
    try:
        with transaction.atomic():
            return ReceivingWallet.objects.create(
                merchant=merchant,
                chain=chain,
                of_one_merchant=chain_spec(chain).exact_amount_required,
                address=address,
                purpose=purpose,
                key=chain_spec(chain).family.address_key(address),
                created_at=now,
                inspected_at=now,
                proof=proof,
            )
    except IntegrityError as error:
        # Two merchants at once: the constraint accepts one.
        raise ProofRequiredError from error


def usable_address(chain: str, address: str) -> str:
    """Return an address in its chain's canonical form. Raises InvalidRequestError (chain_unsupported, address_invalid)."""
    spec = named_chain(chain)
    canonical = typed_address(spec, address)
    try:
        _refuse_traps_and_deposits(spec, canonical)
    except AddressError as error:
        raise _unusable(error) from error
    return canonical


def named_chain(name: str) -> ChainSpec:
    """Return the chain with this name. Raises InvalidRequestError (chain_unsupported)."""
    spec = chains().get(name)
    if spec is None:
        raise InvalidRequestError(f"There is no chain {name[:16]!r}.", param="chain", code="chain_unsupported")
    return spec


def typed_address(spec: ChainSpec, text: str) -> str:
    """Return a typed address in canonical form, regardless of its owner. Raises InvalidRequestError (address_invalid)."""
    try:
        return address_on(spec, text)
    except AddressError as error:
        raise _unusable(error) from error


def _unusable(error: AddressError) -> InvalidRequestError:
    return InvalidRequestError(f"The address {error}", param="address", code="address_invalid")


def _refuse_traps_and_deposits(spec: ChainSpec, address: str) -> None:
    """Refuse addresses where money would be lost or would circulate."""
    refuse_traps(spec, address)
    if not spec.family.keys_name_contracts:
        return
    # On Tron nothing can ever be deployed at such an address: its CREATE2 is not Ethereum's (TIP-26).
    key = spec.family.address_key(address)
    if DepositAddress.objects.filter(key=key).exists():
        raise AddressError("must not be a deposit address of this gateway.")


def refuse_traps(spec: ChainSpec, address: str) -> None:
    """Raise AddressError if a canonical address cannot, or must not, hold a merchant's money on this chain."""
    key = spec.family.address_key(address)
    if key in _token_keys(spec):
        raise AddressError("must not be a token contract: money sent there is lost.")
    if key == spec.family.address_key(spec.family.nobody):
        raise AddressError("must not be a burn address: money sent there is lost.")
    spec.family.refuse_trap(address)


def _token_keys(spec: ChainSpec) -> set[bytes]:
    """Return every known token contract of the chain, including published ones of its other networks."""
    networks = [
        network for facts in registry.CHAINS if facts.name == spec.name for network in (facts.mainnet, facts.testnet)
    ]
    published = {
        address for network in networks for address in (*network.tokens.values(), *network.wrong_tokens.values())
    }
    configured = {token.address for token in spec.tokens.values()}
    return {spec.family.address_key(text) for text in published | configured}
