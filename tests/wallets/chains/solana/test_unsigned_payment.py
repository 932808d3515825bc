"""The transaction that a payer is given to sign: every account, every number."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import Message
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import Transaction

from localnet.solana import programs
from localnet.solana.node import SolanaNode
from wallets.chains.solana.unsigned_payment import TokenPayment, is_wallet, unsigned_payment

PAYER, MERCHANT, REFERENCE = (Keypair().pubkey() for _ in range(3))
MINT = Pubkey.from_string("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")
BLOCKHASH = Hash.new_unique()
PAYMENT = TokenPayment(
    payer=str(PAYER),
    recipient=str(MERCHANT),
    mint=str(MINT),
    program=str(programs.TOKEN),
    decimals=6,
    units=25_003_700,
    reference=bytes(REFERENCE),
)
COMPUTE_BUDGET = Pubkey.from_string("ComputeBudget111111111111111111111111111111")


def built(payment: TokenPayment = PAYMENT, *, makes_account: bool = False) -> Transaction:
    """What a wallet makes of the bytes."""
    return Transaction.from_bytes(unsigned_payment(payment, blockhash=str(BLOCKHASH), makes_account=makes_account))


def instructions_of(transaction: Transaction) -> list[tuple[Pubkey, bytes, list[tuple[Pubkey, bool, bool]]]]:
    """Program, data, and each account with whether it signs and may be written."""
    message = transaction.message
    return [
        (
            message.account_keys[instruction.program_id_index],
            bytes(instruction.data),
            [
                (message.account_keys[index], message.is_signer(index), _is_writable(message, index))
                for index in instruction.accounts
            ],
        )
        for instruction in message.instructions
    ]


def _is_writable(message: Message, index: int) -> bool:
    """Signers come first, and of each kind those that may be written."""
    header, count = message.header, len(message.account_keys)
    signers = header.num_required_signatures
    if index < signers:
        return index < signers - header.num_readonly_signed_accounts
    return index < count - header.num_readonly_unsigned_accounts


def test_it_is_one_transfer_of_the_units_with_the_reference_read_only() -> None:
    limit, transfer = instructions_of(built())
    assert (limit[0], limit[1][0]) == (COMPUTE_BUDGET, 2)
    program, data, accounts = transfer
    assert program == programs.TOKEN
    assert data == b"\x0c" + (25_003_700).to_bytes(8, "little") + b"\x06"
    assert accounts == [
        (programs.token_account(PAYER, MINT), False, True),
        (MINT, False, False),
        (programs.token_account(MERCHANT, MINT), False, True),
        # As who pays the fee, the payer's account is written.
        (PAYER, True, True),
        (REFERENCE, False, False),
    ]


def test_the_missing_account_of_the_merchant_is_made_at_the_payers_cost() -> None:
    _, making, transfer = instructions_of(built(makes_account=True))
    expected = programs.create_account(PAYER, MERCHANT, MINT, program=programs.TOKEN)
    program, data, accounts = making
    assert (program, data) == (expected.program_id, bytes(expected.data))
    assert [key for key, _, _ in accounts] == [m.pubkey for m in expected.accounts]
    assert transfer[2][2][0] == programs.token_account(MERCHANT, MINT)


def test_only_the_payer_signs_and_nobody_has_yet() -> None:
    transaction = built(makes_account=True)
    assert transaction.signatures == [Signature.default()]
    assert transaction.message.header.num_required_signatures == 1
    assert transaction.message.account_keys[0] == PAYER
    assert transaction.message.recent_blockhash == BLOCKHASH
    # What a packet takes.
    assert len(bytes(transaction)) <= 1232


@given(st.integers(min_value=1, max_value=2**64 - 1))
def test_whatever_the_amount_is_it_is_written_whole(units: int) -> None:
    *_, (_, data, _) = instructions_of(built(replace(PAYMENT, units=units)))
    assert int.from_bytes(data[1:9], "little") == units


@pytest.mark.parametrize("makes_account", [False, True])
@pytest.mark.parametrize("program", [programs.TOKEN, programs.TOKEN_2022], ids=["token", "token-2022"])
def test_a_node_takes_it_within_its_own_limit_of_work(
    makes_account: bool, program: Pubkey, solana_node: SolanaNode
) -> None:
    payer, owner = Keypair(), str(Keypair().pubkey())
    token = solana_node.create_token(program=program)
    solana_node.airdrop(str(payer.pubkey()))
    solana_node.fund(str(payer.pubkey()), 10, token=token)
    if not makes_account:
        solana_node.fund(owner, 1, token=token)
    recent = solana_node.rpc("getLatestBlockhash", {"commitment": "processed"})
    payment = TokenPayment(
        payer=str(payer.pubkey()),
        recipient=owner,
        mint=token,
        program=str(program),
        decimals=6,
        units=7,
        reference=bytes(REFERENCE),
    )
    unsigned = unsigned_payment(payment, blockhash=recent["value"]["blockhash"], makes_account=makes_account)
    transaction = Transaction.from_bytes(unsigned)
    transaction.sign([payer], transaction.message.recent_blockhash)
    solana_node.submit(transaction)  # type: ignore[arg-type]
    assert solana_node.balance(owner, token=token) == 7 + (0 if makes_account else 1)


def test_an_account_that_a_program_derived_is_no_wallet() -> None:
    assert is_wallet(str(PAYER))
    assert not is_wallet(str(programs.token_account(PAYER, MINT)))
