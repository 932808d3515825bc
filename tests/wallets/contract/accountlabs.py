"""Solana and TON in the laboratory."""

import base64

from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from tonsdk.boc import Cell

from localnet.solana import programs
from localnet.solana.node import PAYER_UNITS, USDC, Payment, SolanaNode
from localnet.ton.messages import Envelope
from localnet.ton.messages import Payment as JettonPayment
from localnet.ton.node import TonNode
from tests.wallets.contract.labs import AccountLab, Adapter, Wallet
from wallets.chains.base import BlockRef
from wallets.chains.family import ChainSpec
from wallets.chains.registry import load_chains, open_pool
from wallets.chains.solana.adapter import SolanaAdapter
from wallets.chains.ton.adapter import TonAdapter
from wallets.chains.ton.family import TON_FAMILY

_APPROVE = 4


class SolanaLab(AccountLab):
    """A chain over LiteSVM."""

    # All there can ever be of a token, less what the payer has.
    huge_units = 2**64 - 1 - PAYER_UNITS

    def __init__(self, node: SolanaNode) -> None:
        self._node = node

    @property
    def url(self) -> str:
        return self._node.url

    def spec(self, *urls: str) -> ChainSpec:
        return load_chains("local", {"SOLANA_RPC_URLS": ",".join(urls)})["solana"]

    def open(self, *urls: str, page: int) -> Adapter:
        spec = self.recording(*urls)
        return SolanaAdapter(spec, open_pool(spec), page=page)

    def create_wallet(self) -> Wallet:
        pair = Keypair()
        self._node.airdrop(str(pair.pubkey()))
        return Wallet(bytes(pair.pubkey()), str(pair.pubkey()), pair)

    @property
    def payer(self) -> str:
        return str(self._node.payer.pubkey())

    def pay(self, *payments: tuple[Wallet, int]) -> str:
        asked = [Payment(to.address, units) for to, units in payments]
        return self._node.pay_all(asked)

    def pay_huge(self, wallet: Wallet) -> None:
        self._node.fund(str(self._node.payer.pubkey()), self.huge_units)
        self.pay((wallet, self.huge_units))

    def pay_fake(self, wallet: Wallet, units: int) -> str:
        return self._pay_in(self._node.create_token(), wallet, units)

    def pay_other(self, wallet: Wallet, units: int) -> str:
        self.other = self.other or self._node.create_token()
        return self._pay_in(self.other, wallet, units)

    def _pay_in(self, token: str, wallet: Wallet, units: int) -> str:
        self._node.fund(str(self._node.payer.pubkey()), units, token=token)
        return self._node.pay(wallet.address, units, token=token)

    def pay_coin(self, wallet: Wallet, units: int) -> str:
        payer, to = self._node.payer.pubkey(), Pubkey.from_string(wallet.address)
        order = TransferParams(from_pubkey=payer, to_pubkey=to, lamports=units)
        return self._node.send(transfer(order))

    def pay_later(self, wallet: Wallet, units: int) -> str:
        return self._node.pay_unconfirmed(wallet.address, units)

    def settle(self) -> None:
        self._node.advance()

    def fail_to_pay(self, wallet: Wallet, units: int) -> str:
        return self._node.fail(wallet.address, units)

    def approve(self, wallet: Wallet, units: int) -> None:
        # By the wallet itself, so that its own token account is listed with the transaction.
        owner, mint = wallet.secret.pubkey(), Pubkey.from_string(USDC)
        account = programs.token_account(owner, mint)
        order = Instruction(
            programs.TOKEN,
            bytes([_APPROVE]) + units.to_bytes(8, "little"),
            [
                AccountMeta(account, is_signer=False, is_writable=True),
                AccountMeta(self._node.payer.pubkey(), False, False),
                AccountMeta(owner, is_signer=True, is_writable=False),
            ],
        )
        made = programs.create_account(owner, owner, mint, program=programs.TOKEN)
        self._node.send(made, order, payer=wallet.secret)

    def pay_oneself(self, wallet: Wallet, units: int) -> str:
        mine = [Payment(wallet.address, units)]
        return self._node.pay_all(mine, payer=wallet.secret)

    def wait(self, blocks: int) -> None:
        self._node.advance(blocks)

    def fork(self, since: BlockRef) -> None:
        self._node.rollback(after=since.height)
        self._node.advance()

    def go_back(self, to: BlockRef) -> None:
        # The one after it confirms it.
        self._node.rewind(to=to.height + 1)


class TonLab(AccountLab):
    """A chain over the TON sandbox."""

    # A message's amount is of at most 120 bits.
    huge_units = 2**119
    impossible = {"approve": "a jetton wallet obeys its owner alone: there are no allowances"}

    def __init__(self, node: TonNode) -> None:
        self._node = node

    @property
    def url(self) -> str:
        return self._node.url

    def spec(self, *urls: str) -> ChainSpec:
        settings = {"TON_RPC_URLS": ",".join(urls), "TON_TOKEN_USDT": self._node.usdt}
        return load_chains("local", settings)["ton"]

    def open(self, *urls: str, page: int) -> Adapter:
        spec = self.recording(*urls)
        return TonAdapter(spec, open_pool(spec), page=page)

    def create_wallet(self) -> Wallet:
        made = self._node.create_wallet()
        return Wallet(TON_FAMILY.address_key(made.address), made.address, made)

    @property
    def payer(self) -> str:
        return str(self._node.payer.address)

    def pay(self, *payments: tuple[Wallet, int]) -> str:
        asked = [JettonPayment(to.address, units) for to, units in payments]
        return [*self._node.send(asked), ""][0]

    def pay_huge(self, wallet: Wallet) -> None:
        self._node.mint(self._node.payer.address, self.huge_units)
        self.pay((wallet, self.huge_units))

    def pay_fake(self, wallet: Wallet, units: int) -> str:
        sent = self._node.pay(wallet.address, units, jetton=self._node.fake)
        assert sent
        return sent

    def pay_other(self, wallet: Wallet, units: int) -> str:
        self.other = self._node.fake
        return self.pay_fake(wallet, units)

    def pay_coin(self, wallet: Wallet, units: int) -> str:
        # Without a body, and to a wallet whose contract is not there yet, as exchanges pay.
        envelope = Envelope(wallet.address, units, Cell(), bounce=False)
        self._node.send_envelopes([envelope], payer=self._node.payer)
        return self._newest_of(wallet.address)

    def pay_later(self, wallet: Wallet, units: int) -> str:
        self._node.withhold_blocks()
        return self._node.pay(wallet.address, units)

    def settle(self) -> None:
        self._node.withhold_blocks(False)

    def fail_to_pay(self, wallet: Wallet, units: int) -> str:
        pauper = self._node.create_wallet(units=1)
        assert not self._node.pay(wallet.address, units, payer=pauper)
        return self._newest_of(pauper.address)

    def _newest_of(self, account: str) -> str:
        answer = self._node.get("transactions", account=account, limit=1)
        return base64.b64decode(answer["transactions"][0]["hash"]).hex()

    def approve(self, wallet: Wallet, units: int) -> None:
        raise NotImplementedError(self.impossible["approve"])

    def pay_oneself(self, wallet: Wallet, units: int) -> str:
        return self._node.pay(wallet.address, units, payer=wallet.secret)

    def wait(self, blocks: int) -> None:
        self._node.advance(blocks)

    def fork(self, since: BlockRef) -> None:
        head = self._node.head()
        self._node.roll_back(to=since.height)
        # A shorter chain would be one that lags.
        self._node.advance(head - since.height)

    def go_back(self, to: BlockRef) -> None:
        self._node.roll_back(to=to.height)
