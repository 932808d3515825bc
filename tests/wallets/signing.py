"""Wallets that sign messages: the libraries that people's wallets are made with."""

import base64
from dataclasses import dataclass, field

from eth_account import Account
from eth_account.messages import encode_defunct
from nacl.signing import SigningKey
from solders.keypair import Keypair

from localnet.ton.messages import TonWallet
from wallets.chains.tron.keys import PrivateKey

SEED = bytes(range(1, 33))


@dataclass(frozen=True)
class Signer:
    """Somebody with a key on a chain; `public_key` is empty but on TON."""

    chain: str
    seed: bytes = field(default=SEED, repr=False)

    @property
    def address(self) -> str:
        """The wallet's address in canonical form."""
        match self.chain:
            case "ethereum" | "base":
                return str(Account.from_key(self.seed).address)
            case "tron":
                return str(PrivateKey(self.seed).public_key.to_base58check_address())
            case "solana":
                return str(Keypair.from_seed(self.seed).pubkey())
        return str(TonWallet(self.seed).address)

    @property
    def public_key(self) -> str:
        """What a TON address does not tell."""
        if self.chain != "ton":
            return ""
        return bytes(SigningKey(self.seed).verify_key).hex()

    def sign(self, message: str) -> str:
        """The signature as a wallet of the chain shows it."""
        match self.chain:
            case "ethereum" | "base":
                signed = Account.sign_message(encode_defunct(text=message), self.seed)
                return "0x" + bytes(signed.signature).hex()
            case "tron":
                raw = PrivateKey(self.seed).sign_msg(message.encode())
                return "0x" + bytes.fromhex(raw.hex()).hex()
            case "solana":
                return str(Keypair.from_seed(self.seed).sign_message(message.encode()))
        signed = SigningKey(self.seed).sign(message.encode()).signature
        return base64.b64encode(signed).decode()
