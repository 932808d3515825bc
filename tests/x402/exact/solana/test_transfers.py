"""What is believed of a payer's transaction: that it moves the payer's tokens to the merchant, and does nothing else."""

import base64
from collections.abc import Mapping
from typing import Any

import pytest
from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.compute_budget import request_heap_frame, set_compute_unit_limit, set_compute_unit_price
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import Message, MessageV0, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.system_program import AdvanceNonceAccountParams, advance_nonce_account
from solders.transaction import VersionedTransaction

from localnet.solana.node import USDC
from localnet.solana.programs import TOKEN, token_account
from tests.x402.exact.solana.forgeries import OURS, PAYER, SHOP, changed, draft, sealed, signed_again, take_lamports
from tests.x402.exact.solana.payers import LIGHTHOUSE, MEMO, UNITS, Draft
from x402.exact.errors import RefusedPaymentError
from x402.exact.inputs import SignedPayment
from x402.exact.solana import reasons, transfers
from x402.exact.solana.transfers import MOST_PRIORITY_FEE, read_transfer

ACCOUNT = token_account(SHOP.pubkey(), Pubkey.from_string(USDC), TOKEN)
NAMED_OURS = AccountMeta(OURS.pubkey(), True, True)
NOTE = Instruction(MEMO, b"note", [])
LIMIT, PRICE, TRANSFER = draft().instructions()


def read(
    signed: bytes | str, *, asset: str = USDC, pay_to: str = str(SHOP.pubkey()), extra: Mapping[str, Any] | None = None
) -> SignedPayment:
    """What is read of the payload for a payment to the shop."""
    text = signed if isinstance(signed, str) else base64.b64encode(signed).decode()
    wanted = extra or {"feePayer": str(OURS.pubkey())}
    return transfers.read_signed({"transaction": text}, asset=asset, pay_to=pay_to, extra=wanted)


def refusal(signed: bytes | str, **wanted: Any) -> str:
    """The code a payload is refused with."""
    with pytest.raises(RefusedPaymentError) as caught:
        read(signed, **wanted)
    return caught.value.reason


def with_steps(*steps: Instruction) -> bytes:
    return draft(steps=steps).signed()


def moved(**changes: Any) -> bytes:
    """With another third instruction."""
    return with_steps(LIMIT, PRICE, changed(TRANSFER, **changes))


@pytest.mark.parametrize("extra", [[], [NOTE], [NOTE, Instruction(LIGHTHOUSE, b"x", [])]])
def test_an_honest_transfer_is_read(extra: list[Instruction]) -> None:
    sent = draft(extra=extra)
    signed = read(sent.signed())
    assert (signed.payer, signed.units) == (str(PAYER.pubkey()), UNITS)
    transfer = transfers.transfer_of(signed)
    assert (transfer.mint, transfer.decimals) == (USDC, 6)
    assert transfer.destination == str(ACCOUNT)
    assert transfer.blockhash == sent.blockhash
    # Two signatures, and 20,000 units at a millionth of a lamport, rounded up.
    assert transfer.network_fee == 10_001


def test_a_message_of_the_oldest_form_is_read_too() -> None:
    sent = draft()
    message = Message.new_with_blockhash(sent.instructions(), OURS.pubkey(), Hash.from_string(sent.blockhash))
    signature = PAYER.sign_message(to_bytes_versioned(message))
    raw = bytes(VersionedTransaction.populate(message, [Signature.default(), signature]))
    assert read(raw).units == UNITS


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([LIMIT, TRANSFER], reasons.INSTRUCTION_COUNT),
        ([LIMIT, PRICE, TRANSFER, *[NOTE] * 4], reasons.INSTRUCTION_COUNT),
        ([PRICE, LIMIT, TRANSFER], reasons.COMPUTE_LIMIT),
        ([LIMIT, LIMIT, TRANSFER], reasons.COMPUTE_PRICE),
        ([changed(LIMIT, data=b""), PRICE, TRANSFER], reasons.COMPUTE_LIMIT),
        ([changed(LIMIT, data=b"\2" * 6), PRICE, TRANSFER], reasons.COMPUTE_LIMIT),
        ([changed(LIMIT, program_id=MEMO), PRICE, TRANSFER], reasons.COMPUTE_LIMIT),
        ([LIMIT, changed(PRICE, data=b"\3"), TRANSFER], reasons.COMPUTE_PRICE),
        ([LIMIT, changed(PRICE, program_id=MEMO), TRANSFER], reasons.COMPUTE_PRICE),
        ([LIMIT, PRICE, NOTE], reasons.NO_TRANSFER),
        ([LIMIT, PRICE, NOTE, TRANSFER], reasons.NO_TRANSFER),
        ([LIMIT, PRICE, TRANSFER, TRANSFER], reasons.UNKNOWN_INSTRUCTIONS[0]),
        ([LIMIT, PRICE, TRANSFER, NOTE, request_heap_frame(2**15)], reasons.UNKNOWN_INSTRUCTIONS[1]),
        ([LIMIT, PRICE, TRANSFER, NOTE, NOTE, take_lamports(PAYER.pubkey(), MEMO)], reasons.UNKNOWN_INSTRUCTIONS[2]),
    ],
)
def test_other_instructions_than_the_standard_s_are_refused(steps: list[Instruction], reason: str) -> None:
    # So that whoever signs is always among the signers.
    signer = Instruction(MEMO, b"", [AccountMeta(PAYER.pubkey(), True, False)])
    padded = [signer if step is NOTE else step for step in steps]
    assert refusal(with_steps(*padded)) == reason


def test_a_durable_nonce_which_would_never_end_is_refused() -> None:
    params = AdvanceNonceAccountParams(nonce_pubkey=Keypair().pubkey(), authorized_pubkey=PAYER.pubkey())
    nonce = advance_nonce_account(params)
    assert refusal(with_steps(nonce, LIMIT, PRICE, TRANSFER)) == reasons.COMPUTE_LIMIT
    after = with_steps(LIMIT, PRICE, TRANSFER, nonce)
    assert refusal(after) == reasons.UNKNOWN_INSTRUCTIONS[0]


@pytest.mark.parametrize(
    ("limit", "price"), [(20_000, 5_000_001), (20_001, 5_000_000), (2**32 - 1, 71_429), (0, 2**64 - 1)]
)
def test_haste_that_is_too_dear_is_refused(limit: int, price: int) -> None:
    steps = set_compute_unit_limit(limit), set_compute_unit_price(price), TRANSFER
    assert refusal(with_steps(*steps)) == reasons.COMPUTE_PRICE_TOO_HIGH


@pytest.mark.parametrize(("limit", "price"), [(20_000, 5_000_000), (2**32 - 1, 71_428), (0, 5_000_000)])
def test_what_haste_costs_never_exceeds_its_limit(limit: int, price: int) -> None:
    steps = set_compute_unit_limit(limit), set_compute_unit_price(price), TRANSFER
    fee = read_transfer(with_steps(*steps)).network_fee
    assert fee - 10_000 == -(-min(limit, 1_400_000) * price // 10**6)
    assert fee - 10_000 <= MOST_PRIORITY_FEE


def test_a_transfer_that_is_not_wholly_as_the_standard_s_is_none() -> None:
    accounts, data = list(TRANSFER.accounts), bytes(TRANSFER.data)
    no = reasons.NO_TRANSFER
    # Of several owners' keys, one more of which stands here.
    assert refusal(moved(accounts=[*accounts, accounts[3]])) == no
    assert refusal(moved(accounts=[*accounts[:2], accounts[3]])) == no
    assert refusal(moved(data=b"\3" + data[1:])) == no
    assert refusal(moved(data=data[:9])) == no
    assert refusal(moved(data=data + b"\0")) == no
    assert refusal(moved(program_id=MEMO)) == no


def test_money_that_goes_elsewhere_is_refused() -> None:
    accounts = list(TRANSFER.accounts)
    other = AccountMeta(Keypair().pubkey(), False, True)
    owner = AccountMeta(SHOP.pubkey(), False, True)
    for to in (other, owner, accounts[0]):
        sent = moved(accounts=[*accounts[:2], to, accounts[3]])
        assert refusal(sent) == reasons.RECIPIENT
    # From the merchant's account to itself, as whoever may spend from it could.
    within = moved(accounts=[accounts[2], *accounts[1:]])
    assert refusal(within) == reasons.RECIPIENT
    payer = str(PAYER.pubkey())
    itself = draft(recipient=payer)
    assert refusal(itself.signed(), pay_to=payer) == reasons.RECIPIENT
    # Nor from one account of the payer's to another.
    step = itself.transfer()
    step = changed(step, accounts=[other, *step.accounts[1:]])
    itself.replaced = {2: step}
    assert refusal(itself.signed(), pay_to=payer) == reasons.RECIPIENT


def test_another_token_is_refused() -> None:
    fake = str(Keypair().pubkey())
    assert refusal(draft(mint=fake).signed()) == reasons.MINT


def test_who_moves_the_tokens_is_who_signed() -> None:
    accounts = list(TRANSFER.accounts)
    ours = [*accounts[:3], NAMED_OURS]
    signs = Instruction(MEMO, b"", [AccountMeta(PAYER.pubkey(), True, False)])
    steps = [LIMIT, PRICE, changed(TRANSFER, accounts=ours), signs]
    assert refusal(with_steps(*steps)) == reasons.FEE_PAYER_TRANSFERRING
    another = [*accounts[:3], AccountMeta(Keypair().pubkey(), False, False)]
    steps[2] = changed(TRANSFER, accounts=another)
    assert refusal(with_steps(*steps)) == reasons.NO_TRANSFER


@pytest.mark.parametrize("is_signer", [True, False])
@pytest.mark.parametrize("program", [MEMO, LIGHTHOUSE])
def test_our_account_appears_in_no_instruction(program: Pubkey, is_signer: bool) -> None:
    named = AccountMeta(OURS.pubkey(), is_signer, False)
    sent = with_steps(LIMIT, PRICE, TRANSFER, Instruction(program, b"x", [named]))
    assert refusal(sent) == reasons.FEE_PAYER_TRANSFERRING


def test_our_own_tokens_do_not_go_along() -> None:
    accounts = list(TRANSFER.accounts)
    for place in range(3):
        taken = [*accounts]
        taken[place] = NAMED_OURS
        assert refusal(moved(accounts=taken)) == reasons.FEE_PAYER_TRANSFERRING


def test_the_fee_payer_is_the_one_that_was_named() -> None:
    other = str(Keypair().pubkey())
    assert refusal(draft(fee_payer=other).signed()) == reasons.FEE_PAYER_UNKNOWN
    named = {"feePayer": other}
    assert refusal(draft().signed(), extra=named) == reasons.FEE_PAYER_UNKNOWN


def test_two_sign_and_nobody_else() -> None:
    third = Keypair()
    note = Instruction(MEMO, b"", [AccountMeta(third.pubkey(), True, False)])
    message = draft(extra=[note]).message()
    text = to_bytes_versioned(message)
    by = {one.pubkey(): one.sign_message(text) for one in (PAYER, third)}
    raw = sealed(message, *[by[key] for key in message.account_keys[1:3]])
    assert refusal(raw) == reasons.UNDECODABLE
    # A payer who pays for the network too needs no account of ours.
    alone = draft(fee_payer=str(PAYER.pubkey()))
    assert refusal(alone.signed()) == reasons.UNDECODABLE


def test_the_payer_s_signature_is_good() -> None:
    message = draft().message()
    text = to_bytes_versioned(message)
    good = PAYER.sign_message(text)
    bad = [
        Signature.default(),
        Keypair().sign_message(text),
        PAYER.sign_message(text + b"\0"),
        Signature(bytes(good)[:63] + bytes([bytes(good)[63] ^ 1])),
    ]
    assert read(sealed(message, good)).units == UNITS
    for signature in bad:
        assert refusal(sealed(message, signature)) == reasons.SIGNATURE
    # In our place it is worth nothing.
    swapped = sealed(message, Signature.default(), first=good)
    assert refusal(swapped) == reasons.SIGNATURE


def test_one_message_is_one_authorisation_however_it_is_signed() -> None:
    message = draft().message()
    again = [signed_again(PAYER, message) for _ in range(2)]
    raw = [sealed(message, one) for one in again]
    raw.append(sealed(message, again[0], first=Signature(b"\7" * 64)))
    assert len(set(raw)) == 3
    assert len({read(one).nonce for one in raw}) == 1
    assert read(draft().signed()).nonce != read(raw[0]).nonce


def test_bytes_that_say_the_same_in_another_way_are_refused() -> None:
    raw = draft().signed()
    # How many signatures follow, in two bytes instead of one.
    longer = b"\x82\x00" + raw[1:]
    for forged in (raw + b"\0", longer, raw[:-1], b"", raw + raw, raw * 3):
        assert refusal(forged) == reasons.UNDECODABLE


def test_accounts_of_a_lookup_table_are_refused() -> None:
    sent = draft()
    table = AddressLookupTableAccount(Keypair().pubkey(), [meta.pubkey for meta in TRANSFER.accounts[:3]])
    message = MessageV0.try_compile(OURS.pubkey(), sent.instructions(), [table], Hash.from_string(sent.blockhash))
    assert message.address_table_lookups
    signature = PAYER.sign_message(to_bytes_versioned(message))
    assert refusal(sealed(message, signature)) == reasons.UNDECODABLE


def test_versions_that_nobody_knows_are_refused() -> None:
    raw = draft().signed()
    start = 1 + 2 * 64
    assert raw[start] == 0x80
    for version in (0x81, 0xFF):
        newer = raw[:start] + bytes([version]) + raw[start + 1 :]
        assert refusal(newer) == reasons.UNDECODABLE


@pytest.mark.parametrize("text", ["", "é", "AQ", "AQ==\n", "=", "a b=", "A" * 1_645, "A" * 1_644, "_-8="])
def test_text_that_is_no_transaction_is_refused(text: str) -> None:
    assert refusal(text) == reasons.UNDECODABLE


def test_no_changed_bit_is_believed() -> None:
    raw = draft(extra=[NOTE]).signed()
    # Our own signature is not there yet.
    for place in [0, *range(65, len(raw))]:
        forged = bytearray(raw)
        forged[place] ^= 1 << place % 8
        assert refusal(bytes(forged))


MEMOS = {"feePayer": str(OURS.pubkey()), "memo": "order 7"}


def noted(*memos: bytes) -> Draft:
    return draft(extra=[Instruction(MEMO, memo, []) for memo in memos])


def test_the_memo_asked_for_is_there_once() -> None:
    assert read(noted(b"order 7").signed(), extra=MEMOS).units == UNITS
    for wrong in (b"order 8", b"order 7 ", b"", b"\xff"):
        code = refusal(noted(wrong).signed(), extra=MEMOS)
        assert code == reasons.MEMO_MISMATCH
    for count in ([], [b"order 7", b"order 7"]):
        assert refusal(noted(*count).signed(), extra=MEMOS) == reasons.MEMO_COUNT


def test_a_refusal_names_who_claims_to_pay() -> None:
    with pytest.raises(RefusedPaymentError) as caught:
        read(draft(mint=str(Keypair().pubkey())).signed())
    assert caught.value.payer == str(PAYER.pubkey())


@pytest.mark.parametrize("payload", [{}, {"transaction": 5}, {"transaction": None}])
def test_a_payload_without_a_transaction_is_refused(payload: dict[str, Any]) -> None:
    with pytest.raises(RefusedPaymentError) as caught:
        transfers.read_signed(payload, asset=USDC, pay_to="", extra={"feePayer": str(OURS.pubkey())})
    assert caught.value.reason == reasons.UNDECODABLE


@pytest.mark.parametrize(
    ("extra", "reason"),
    [
        ({}, reasons.FEE_PAYER_MISSING),
        ({"feePayer": ""}, reasons.FEE_PAYER_MISSING),
        ({"feePayer": 7}, reasons.FEE_PAYER_MISSING),
        ({"feePayer": "x", "memo": 7}, "invalid_payment_requirements"),
        ({"feePayer": "x", "memo": "a\0"}, "invalid_payment_requirements"),
        ({"feePayer": "x", "memo": "ä" * 129}, "invalid_payment_requirements"),
    ],
)
def test_requirements_that_cannot_be_met_are_refused(extra: dict[str, Any], reason: str) -> None:
    with pytest.raises(RefusedPaymentError) as caught:
        transfers.read_extra(extra)
    assert caught.value.reason == reason


def test_an_empty_memo_asks_for_none() -> None:
    assert transfers.read_extra({"feePayer": "x", "memo": ""}) == {"feePayer": "x"}
    longest = {"feePayer": "x", "memo": "ä" * 128}
    assert transfers.read_extra(longest) == longest
