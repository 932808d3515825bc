"""Ethereum and its kin in the laboratory, Tron among them."""

from eth_account import Account

from localnet import tokens
from localnet.abi import encode_call
from localnet.anvil import Anvil, FundedAccount
from localnet.funding import payer
from localnet.tron import USDT, TronNode
from localnet.tron.addresses import to_base58, to_hex
from tests.wallets import paying
from tests.wallets.contract.labs import BlockLab, Wallet
from tests.wallets.evmkin import spec_of
from wallets.chains.base import BlockRef
from wallets.chains.family import ChainSpec

RICH = hex(10**20)


class EvmLab(BlockLab):
    """A chain of anvil's; `token` is what its merchants take."""

    huge_units = 2**255
    symbol = "USDC"

    def __init__(self, chain: str, anvil: Anvil) -> None:
        self.chain = chain
        self.anvil = anvil
        self.token = tokens.token_address("USDC")

    @property
    def url(self) -> str:
        return self.anvil.url

    def spec(self, *urls: str) -> ChainSpec:
        return spec_of(self.chain, *urls, network="local")

    def create_wallet(self) -> Wallet:
        made = Account.create()
        self.anvil.rpc("anvil_setBalance", made.address, RICH)
        account = FundedAccount(made.address, made.key.to_0x_hex())
        return Wallet(bytes.fromhex(made.address[2:]), self.write(made.address), account)

    def write(self, address: str) -> str:
        """An address as people see it."""
        return address

    def name(self, tx_hash: str) -> str:
        """A transaction's hash as people see it."""
        return tx_hash

    @property
    def payer(self) -> str:
        return self.write(payer(self.anvil).address)

    def pay(self, *payments: tuple[Wallet, int]) -> str:
        pays = [(wallet.secret.address, units) for wallet, units in payments]
        node, sender = self.anvil, payer(self.anvil)
        if len(pays) == 1:
            return self.name(paying.transfer(node, sender, self.token, *pays[0]))
        return self.name(paying.transfer_many(node, sender, self.token, pays))

    def pay_huge(self, wallet: Wallet) -> None:
        rich = payer(self.anvil)
        paying.mint(self.anvil, self.token, rich.address, self.huge_units)
        self.pay((wallet, self.huge_units))

    def pay_fake(self, wallet: Wallet, units: int) -> str:
        fake = tokens.deploy_token(self.anvil, self.symbol, salt=tokens.FAKE)
        rich = payer(self.anvil)
        paying.mint(self.anvil, fake, rich.address, units)
        sent = paying.transfer(self.anvil, rich, fake, wallet.secret.address, units)
        return self.name(sent)

    def pay_other(self, wallet: Wallet, units: int) -> str:
        self.other = self.write(tokens.deploy_token(self.anvil, self.symbol, salt=tokens.FAKE))
        return self.pay_fake(wallet, units)

    def pay_coin(self, wallet: Wallet, units: int) -> str:
        sent = self.anvil.send(payer(self.anvil), to=wallet.secret.address, value=units)
        assert self.anvil.receipt(sent)["status"] == "0x1"
        return self.name(sent)

    def pay_later(self, wallet: Wallet, units: int) -> str:
        self.anvil.set_automine(False)
        data = encode_call("transfer(address,uint256)", wallet.secret.address, units)
        return self.name(self.anvil.send(payer(self.anvil), to=self.token, data=data))

    def settle(self) -> None:
        self.anvil.mine()
        self.anvil.set_automine(True)

    def fail_to_pay(self, wallet: Wallet, units: int) -> str:
        pauper = self.create_wallet().secret
        data = encode_call("transfer(address,uint256)", wallet.secret.address, units)
        sent = self.anvil.send(pauper, to=self.token, data=data)
        assert self.anvil.receipt(sent)["status"] == "0x0"
        return self.name(sent)

    def approve(self, wallet: Wallet, units: int) -> None:
        signature = "approve(address,uint256)"
        to = wallet.secret.address
        sent = tokens.execute(self.anvil, payer(self.anvil), self.token, signature, to, units)
        self.anvil.receipt(sent)

    def pay_oneself(self, wallet: Wallet, units: int) -> str:
        account, node = wallet.secret, self.anvil
        return self.name(paying.transfer(node, account, self.token, account.address, units))

    def wait(self, blocks: int) -> None:
        self.anvil.mine(blocks)

    def fork(self, since: BlockRef) -> None:
        self.anvil.reorg(self.anvil.block_number() - since.height)

    def go_back(self, to: BlockRef) -> None:
        self.anvil.shorten(self.anvil.block_number() - to.height)


class TronLab(EvmLab):
    """The stand-in for a Tron node."""

    symbol = "USDT"
    impossible = {"pay_later": "java-tron tells of no transaction that is in no block"}

    def __init__(self, node: TronNode) -> None:
        super().__init__("tron", node.anvil)
        self._node = node
        self.token = to_hex(USDT)

    @property
    def url(self) -> str:
        return self._node.url

    def write(self, address: str) -> str:
        return to_base58(address)

    def name(self, tx_hash: str) -> str:
        return tx_hash.removeprefix("0x")
