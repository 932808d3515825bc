"""A Solana transaction that somebody names: what it moved by owner and token, and what of it a watcher would record."""

import pytest
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.system_program import CreateAccountParams, create_account

from localnet.solana import programs
from localnet.solana.node import USDC, Format, Payment, SolanaNode
from tests.chains import OpenReader
from tests.nodes.proxy import RpcProxy, results
from tests.wallets.chains.solana.reading import new_owner, read_one
from wallets.chains.base import FoundMovement, FoundTransaction, MalformedAnswerError
from wallets.chains.solana.adapter import SolanaAdapter

_TOKEN_ACCOUNT_BYTES = 165
_INITIALIZE_ACCOUNT_3 = 18


def find(reader: SolanaAdapter, signature: str) -> FoundTransaction:
    found = reader.find(signature)
    assert found is not None
    return found


def moved(found: FoundTransaction, owner: str) -> list[FoundMovement]:
    return [one for one in found.movements if one.recipient == owner]


def auxiliary_account(node: SolanaNode, owner: str) -> Pubkey:
    """A token account of an owner that is not the associated one."""
    account, mint = Keypair(), Pubkey.from_string(USDC)
    rent = node.rpc("getMinimumBalanceForRentExemption", _TOKEN_ACCOUNT_BYTES)
    made = CreateAccountParams(
        from_pubkey=node.payer.pubkey(),
        to_pubkey=account.pubkey(),
        lamports=rent,
        space=_TOKEN_ACCOUNT_BYTES,
        owner=programs.TOKEN,
    )
    begun = Instruction(
        programs.TOKEN,
        bytes([_INITIALIZE_ACCOUNT_3]) + bytes(Pubkey.from_string(owner)),
        [programs._written(account.pubkey()), programs._read(mint)],
    )
    node.send(create_account(made), begun, signers=[account])
    return account.pubkey()


def test_units_in_an_account_that_no_watcher_lists_are_told_and_not_recorded(
    solana_node: SolanaNode, reader: SolanaAdapter, solana_owner: str
) -> None:
    account, payer = auxiliary_account(solana_node, solana_owner), solana_node.payer.pubkey()
    mint = Pubkey.from_string(USDC)
    order = programs.transfer(
        programs.token_account(payer, mint), account, 25, owner=payer, mint=mint, program=programs.TOKEN
    )
    found = find(reader, solana_node.send(order))
    [paid] = moved(found, solana_owner)
    assert (paid.token, paid.units) == ("USDC", 25)
    assert list(found.transfers) == []
    assert read_one(reader, solana_owner) == []


def test_the_deposit_of_a_token_account_is_no_coin_that_was_paid(
    solana_node: SolanaNode, reader: SolanaAdapter, solana_owner: str
) -> None:
    found = find(reader, solana_node.pay(solana_owner, 25))
    assert [(one.token, one.recipient) for one in found.movements] == [("USDC", solana_owner)]


def test_a_transaction_of_a_newer_version_is_found(
    solana_node: SolanaNode, reader: SolanaAdapter, solana_owner: str
) -> None:
    signature = solana_node.pay_all([Payment(solana_owner, 25)], written=Format(0))
    [paid] = moved(find(reader, signature), solana_owner)
    assert (paid.token, paid.units) == ("USDC", 25)


def test_what_is_written_beside_a_payment_is_found_with_it(
    solana_node: SolanaNode, reader: SolanaAdapter, solana_owner: str
) -> None:
    signature = solana_node.pay(solana_owner, 25, references=[new_owner()], memo="order 7")
    assert list(find(reader, signature).transfers) == read_one(reader, solana_owner)
    assert "order 7" in find(reader, signature).transfers[0].labels


def test_a_strangers_token_is_told_by_its_mint_whatever_its_decimals(
    solana_node: SolanaNode, reader: SolanaAdapter, solana_owner: str
) -> None:
    for program in (programs.TOKEN, programs.TOKEN_2022):
        mint = solana_node.create_token(decimals=9 * (program == programs.TOKEN))
        solana_node.fund(str(solana_node.payer.pubkey()), 25, token=mint)
        found = find(reader, solana_node.fund(solana_owner, 7, token=mint))
        [paid] = moved(found, solana_owner)
        assert (paid.token, paid.token_address, paid.units) == (None, mint, 7)


def test_a_token_of_ours_with_other_decimals_is_a_lie(
    solana_node: SolanaNode, open_on: OpenReader, solana_proxy: RpcProxy, solana_owner: str
) -> None:
    signature = solana_node.pay(solana_owner, 25)

    def lie(method: str, result: object) -> object:
        if method == "getTransaction" and isinstance(result, dict):
            for balance in result["meta"]["postTokenBalances"]:
                balance["uiTokenAmount"]["decimals"] = 2
        return result

    solana_proxy.fault = results(lie)
    with pytest.raises(MalformedAnswerError):
        open_on(solana_proxy.url).find(signature)


def test_what_is_not_confirmed_and_fails_is_told_as_failed(
    solana_node: SolanaNode, reader: SolanaAdapter, solana_owner: str
) -> None:
    orders = solana_node._transfer(solana_node.payer.pubkey(), Payment(solana_owner, 2**64 - 1))
    signed = solana_node.sign(orders, payer=solana_node.payer)
    waiting = find(reader, solana_node.submit(signed, skip_preflight=True))
    assert (waiting.succeeded, waiting.block_height) == (False, None)


def test_a_look_up_takes_one_request(solana_node: SolanaNode, reader: SolanaAdapter, solana_owner: str) -> None:
    signature = solana_node.pay(solana_owner, 25)
    before = reader.requests
    find(reader, signature)
    assert reader.requests - before == 1
    before = reader.requests
    assert reader.find("1" * 64) is None
    assert reader.requests - before == 2
