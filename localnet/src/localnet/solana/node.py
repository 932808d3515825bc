"""A Solana node as a process, and what tests and the demo do on it."""

import base64
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO, Final, Self, cast

from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.hash import Hash
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.message import Message, MessageV0
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from localnet.errors import NodeError, NodeStartError
from localnet.process import SOURCE, JsonRpcNode
from localnet.solana import programs
from localnet.solana.programs import TOKEN, TOKEN_2022

USDC: Final = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
"""Where USDC is on the main network, and on a local one."""

PAYER_UNITS: Final = 10**12
_LAMPORTS: Final = 10**12
_MOST_UNITS: Final = 2**64 - 1


@dataclass(frozen=True)
class Payment:
    """One transfer: to an owner's associated token account, of base units."""

    owner: str
    units: int
    token: str = USDC
    references: Sequence[str] = ()


@dataclass(frozen=True)
class Format:
    """How a transaction is written: the version, and a lookup table to take accounts from (with version 0)."""

    version: str | int = "legacy"
    tables: Sequence[AddressLookupTableAccount] = field(default_factory=tuple)


LEGACY: Final = Format()


class SolanaNode(JsonRpcNode):
    """One chain. Use it as a context manager, or call start and stop. Port None lets the system choose a free one.

    `payer` is rich in SOL and has a million USDC; it is also who may mint every token made here.
    """

    def __init__(self, *, port: int | None = None) -> None:
        super().__init__(port)
        self.payer = Keypair.from_seed(b"the payer of the Florin tests...")

    def command(self) -> list[str]:
        """Return the arguments that start the node in SOURCE, for callers that run the process instead of `start`."""
        return [sys.executable, "-m", "localnet.solana", str(self.port)]

    def start(self) -> Self:
        """Start the node and return once it answers, with USDC and a payer on it. Raises NodeStartError."""
        process = self._process = subprocess.Popen(  # noqa: S603 - no shell
            self.command(), cwd=SOURCE, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        with cast("IO[bytes]", process.stdout) as output:
            found = re.match(rb"Listening on 127\.0\.0\.1:(\d+)$", output.readline())
        if found is None:
            self.stop()
            raise NodeStartError("The Solana node ended at once: is its port in use?")
        self.port = int(found[1])
        self.prepare()
        return self

    def prepare(self) -> None:
        """Make USDC and fund the payer, where that has not been done."""
        if self.rpc("getAccountInfo", USDC)["value"] is None:
            self.create_token(USDC)
            self.airdrop(str(self.payer.pubkey()))
            self.fund(str(self.payer.pubkey()), PAYER_UNITS)

    def reset(self) -> None:
        """Begin another chain, with another genesis, and prepare it."""
        self.rpc("sim_reset")
        self.prepare()

    def slot(self, commitment: str = "processed") -> int:
        """The newest slot at a commitment."""
        slot: int = self.rpc("getSlot", {"commitment": commitment})
        return slot

    def ws_url(self) -> str:
        """Return where the node pushes notices."""
        url: str = self.rpc("sim_socket")
        return url

    def advance(self, slots: int = 1) -> None:
        """Let slots pass at once: 1 confirms what has landed, 33 finalize it."""
        self.rpc("sim_advance", slots)

    def finalize(self) -> None:
        """Let so many slots pass that everything is final."""
        self.advance(33)

    def skip(self, slots: int = 1) -> int:
        """Let slots pass at once in which no leader makes a block, and one with a block; return the last without."""
        newest: int = self.rpc("sim_skip", slots)
        return newest - 1

    def rollback(self, *, after: int) -> list[str]:
        """Fork every slot after this one away, while time goes on; return the signatures of what was undone.

        The slot is named, because slots follow the clock: "the newest ten" would be others a moment later.
        """
        gone: list[str] = self.rpc("sim_rollback", after)
        return gone

    def rewind(self, *, to: int) -> list[str]:
        """Make this slot the newest again, as on a node that fell behind; return the signatures of what was undone."""
        gone: list[str] = self.rpc("sim_rewind", to)
        return gone

    def create_token(self, mint: str | None = None, *, decimals: int = 6, program: Pubkey = TOKEN) -> str:
        """Make a token at an address, or at a new one; return its address. Token-2022 is the other `program`."""
        mint = mint or str(Keypair().pubkey())
        authority = str(self.payer.pubkey())
        self.rpc("sim_createMint", mint, authority, str(program), decimals)
        return mint

    def create_fee_token(self, *, basis_points: int) -> str:
        """Make a Token-2022 token that keeps so much of each transfer back; return its address."""
        mint, payer = Keypair(), self.payer.pubkey()
        instructions = programs.create_fee_mint(payer, mint.pubkey(), basis_points=basis_points, lamports=10**8)
        self.send(*instructions, signers=[mint])
        return str(mint.pubkey())

    def create_lookup_table(self, keys: Sequence[str]) -> AddressLookupTableAccount:
        """Make a table of accounts, for Format."""
        table = Keypair().pubkey()
        self.rpc("sim_createLookupTable", str(table), list(keys))
        return AddressLookupTableAccount(table, [Pubkey.from_string(key) for key in keys])

    def airdrop(self, owner: str, lamports: int = _LAMPORTS) -> None:
        """Give SOL."""
        self.rpc("requestAirdrop", owner, lamports)

    def fund(self, owner: str, units: int, *, token: str = USDC) -> str:
        """Mint new units of a token to an owner; return the signature."""
        payer, program = self.payer.pubkey(), self.program_of(token)
        to, mint = Pubkey.from_string(owner), Pubkey.from_string(token)
        account = programs.token_account(to, mint, program)
        return self.send(
            programs.create_account(payer, to, mint, program=program),
            programs.mint_to(account, units, mint=mint, authority=payer, program=program),
        )

    def pay(
        self, owner: str, units: int, *, token: str = USDC, references: Sequence[str] = (), memo: str | None = None
    ) -> str:
        """Send a token from the payer, signed and confirmed; return the signature. Raises NodeError if it is refused."""
        return self.pay_all([Payment(owner, units, token, references)], memo=memo)

    def pay_all(
        self,
        payments: Sequence[Payment],
        *,
        payer: Keypair | None = None,
        memo: str | None = None,
        written: Format = LEGACY,
    ) -> str:
        """Make several transfers in one transaction, as `pay` does. Another payer needs SOL and tokens of its own."""
        payer = payer or self.payer
        instructions = [instruction for payment in payments for instruction in self._transfer(payer.pubkey(), payment)]
        if memo is not None:
            instructions.append(programs.memo(memo))
        return self.send(*instructions, payer=payer, written=written)

    def pay_unconfirmed(self, owner: str, units: int) -> str:
        """Send USDC from the payer in the newest slot, which is not confirmed yet; return the signature."""
        orders = self._transfer(self.payer.pubkey(), Payment(owner, units))
        return self.submit(self.sign(orders, payer=self.payer))

    def fail(self, owner: str, units: int, *, token: str = USDC) -> str:
        """Send a payment that lands in a block and fails there, its transfer undone; return the signature."""
        payments = [Payment(owner, units, token), Payment(owner, _MOST_UNITS, token)]
        instructions = [
            instruction for payment in payments for instruction in self._transfer(self.payer.pubkey(), payment)
        ]
        return self.send(*instructions, skip_preflight=True)

    def send(
        self,
        *instructions: Instruction,
        payer: Keypair | None = None,
        signers: Sequence[Keypair] = (),
        written: Format = LEGACY,
        skip_preflight: bool = False,
    ) -> str:
        """Sign and send a transaction, and let it be confirmed; return the signature. Raises NodeError.

        `signers` are those who sign beside the payer.
        """
        signed = self.sign(instructions, payer=payer or self.payer, signers=signers, written=written)
        signature = self.submit(signed, skip_preflight=skip_preflight)
        self.advance()
        return signature

    def submit(self, signed: VersionedTransaction, *, skip_preflight: bool = False) -> str:
        """Send a signed transaction, which lands in the newest slot; return the signature. Raises NodeError."""
        text = base64.b64encode(bytes(signed)).decode()
        options = {"encoding": "base64", "skipPreflight": skip_preflight}
        signature: str = self.rpc("sendTransaction", text, options)
        return signature

    def sign(
        self,
        instructions: Sequence[Instruction],
        *,
        payer: Keypair,
        signers: Sequence[Keypair] = (),
        written: Format = LEGACY,
    ) -> VersionedTransaction:
        """A signed transaction with a blockhash of the newest slot."""
        recent = self.rpc("getLatestBlockhash", {"commitment": "processed"})
        blockhash = Hash.from_string(recent["value"]["blockhash"])
        message: Message | MessageV0
        if written.version == 0:
            message = MessageV0.try_compile(payer.pubkey(), list(instructions), list(written.tables), blockhash)
        else:
            message = Message.new_with_blockhash(list(instructions), payer.pubkey(), blockhash)
        return VersionedTransaction(message, [payer, *signers])

    def balance(self, owner: str, *, token: str = USDC) -> int:
        """What an owner's associated token account holds, in base units."""
        account = self.rpc("getAccountInfo", self.token_account(owner, token=token), _PARSED)["value"]
        info = account["data"]["parsed"]["info"] if account else None
        return int(info["tokenAmount"]["amount"]) if info else 0

    def token_account(self, owner: str, *, token: str = USDC) -> str:
        """The address of an owner's associated token account."""
        keys = Pubkey.from_string(owner), Pubkey.from_string(token)
        return str(programs.token_account(*keys, self.program_of(token)))

    def program_of(self, token: str) -> Pubkey:
        """The program that keeps a token. Raises NodeError if there is no such token."""
        account = self.rpc("getAccountInfo", token, _PARSED)["value"]
        if account is None:
            raise NodeError(0, f"There is no token {token}.", None)
        return TOKEN if account["owner"] == str(TOKEN) else TOKEN_2022

    def _transfer(self, payer: Pubkey, payment: Payment) -> list[Instruction]:
        program = self.program_of(payment.token)
        to, mint = Pubkey.from_string(payment.owner), Pubkey.from_string(payment.token)
        return [
            programs.create_account(payer, to, mint, program=program),
            programs.transfer(
                programs.token_account(payer, mint, program),
                programs.token_account(to, mint, program),
                payment.units,
                owner=payer,
                mint=mint,
                program=program,
                references=[Pubkey.from_string(key) for key in payment.references],
            ),
        ]


_PARSED: Final = {"encoding": "jsonParsed", "commitment": "processed"}
