"""A real TVM on loopback behind toncenter's HTTP interface: node.mjs of this folder, run by Node.js.

It starts in half a second. Blocks follow the wall clock, one in 0.4 s; a message makes one at once.
"""

import base64
import http.client
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Self
from urllib.parse import urlencode

from tonsdk.contract.token.ft import JettonMinter, JettonWallet

from localnet.errors import NodeError, NodeMissingError, NodeStartError
from localnet.npm import package_folder
from localnet.process import NodeProcess
from localnet.ton.messages import NANOTONS, Envelope, Payment, TonWallet, transfer_body, written

FOLDER = Path(__file__).resolve().parent
API = "/api/v3"
START_SECONDS = 120.0
POLL_SECONDS = 0.005
PAYER_NANOTONS = 10_000 * NANOTONS
PAYER_UNITS = 10**12
# Public, like the keys of other local nodes.
PAYER_SEED = b"the payer of the local TON chain"
ISSUER = "issuer"
IMPOSTOR = "impostor"
CONTENT = "usdt.json"


def node_command() -> list[str]:
    """The Node.js program that runs node.mjs. Raises NodeMissingError without Node.js or its packages."""
    program = shutil.which("node")
    if program is None or package_folder("@ton/sandbox") is None:
        raise NodeMissingError("No TON sandbox: install Node.js and run npm ci.")
    return [program, str(FOLDER / "node.mjs")]


class TonNode(NodeProcess):
    """One chain. Use it as a context manager, or call start and stop.

    `usdt` is the master of its USDT, `fake` that of a jetton which claims the same name, `payer` a wallet with a million of
    each. Every start is another chain; its addresses are always the same. Port None lets the system choose one.
    """

    def __init__(self, *, port: int | None = None) -> None:
        super().__init__(port)
        self.payer = TonWallet(PAYER_SEED)
        self.usdt = ""
        self.fake = ""
        self._query_id = 0

    @property
    def url(self) -> str:
        """Where it answers as toncenter does: the address to configure."""
        return f"http://127.0.0.1:{self.port}{API}"

    def command(self) -> list[str]:
        """Return the arguments that start the node, for callers that run the process instead of `start`."""
        return [*node_command(), str(self.port)]

    def start(self) -> Self:
        """Start the node, deploy USDT and fund the payer. Raises NodeMissingError or NodeStartError."""
        with tempfile.TemporaryFile() as output:
            self._process = subprocess.Popen(  # noqa: S603 - no shell, our own arguments
                self.command(), stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
            try:
                self._read_banner(output)
                self.prepare()
                self.mark()
            except BaseException:
                self.stop()
                raise
        return self

    def prepare(self) -> None:
        """Deploy the jettons and fund the payer once; the answers are the same when it was done before."""
        self.usdt = self.deploy_jetton()
        self.fake = self.deploy_jetton(admin=IMPOSTOR)
        if int(self.get("walletInformation", address=self.payer.address)["balance"]):
            return
        self.fund(self.payer.address, nanotons=PAYER_NANOTONS)
        self.mint(self.payer.address, PAYER_UNITS)
        self.mint(self.payer.address, PAYER_UNITS, jetton=self.fake)

    def mark(self) -> None:
        """Take a snapshot of the chain; `reset` can return to it any number of times."""
        self._control("mark")

    def reset(self) -> None:
        """Undo everything since `mark`: transactions, faults, the clock. Block numbers go on."""
        self._control("reset")

    def get(self, path: str, **query: Any) -> Any:
        """Ask what toncenter is asked, lists repeated. Raises NodeError with the HTTP status of a refusal."""
        return self._exchange("GET", f"{API}/{path}?{urlencode(query, doseq=True)}")

    def post(self, path: str, document: Any) -> Any:
        """Send what toncenter is sent. Raises NodeError."""
        return self._exchange("POST", f"{API}/{path}", document)

    def head(self) -> int:
        """The number of the newest masterchain block."""
        return int(self.get("masterchainInfo")["last"]["seqno"])

    def advance(self, blocks: int = 1) -> int:
        """Let masterchain blocks follow at once; returns the newest."""
        return int(self._control("advance", blocks=blocks)["seqno"])

    def roll_back(self, *, to: int) -> int:
        """Undo every block after this one and all that is in them; others follow in their place. Returns the newest then.

        The block is named, because blocks follow the clock: "the newest ten" would be others a moment later.
        """
        return int(self._control("roll_back", to=to)["seqno"])

    def elapse(self, seconds: float) -> None:
        """Put the chain's clock forward."""
        self._control("elapse", seconds=seconds)

    def withhold_blocks(self, on: bool = True) -> None:
        """While it is on, new transactions are in no masterchain block; turned off, one block takes them all."""
        self._control("withhold", what="blocks", on=on)

    def withhold_receipts(self, on: bool = True) -> None:
        """While it is on, new transactions are listed as transfers and found nowhere else: an index that is behind."""
        self._control("withhold", what="receipts", on=on)

    def limit_rate(self, requests: int) -> None:
        """Refuse as many requests with HTTP 429."""
        self._control("limit_rate", requests=requests)

    def deploy_jetton(self, *, content: str = CONTENT, admin: str = ISSUER) -> str:
        """Deploy a jetton that claims to be `content`, unless it is there; return its master's address."""
        code = {"minter": JettonMinter.code, "wallet": JettonWallet.code}
        answer = self._control("jetton", content=content, admin=admin, **code)
        return written(answer["master"])

    def fund(self, address: str, *, nanotons: int) -> None:
        """Give coin to an address."""
        self._control("fund", to=address, nanotons=str(nanotons), admin=ISSUER)

    def mint(self, owner: str, units: int, *, jetton: str | None = None) -> None:
        """Give an owner units of a jetton, USDT unless another is named. No transfer is listed for it."""
        admin = IMPOSTOR if jetton is not None and jetton == self.fake else ISSUER
        master = jetton or self.usdt
        self._control("mint", master=master, to=owner, units=str(units), admin=admin)

    def create_wallet(self, *, units: int = 0, nanotons: int = 100 * NANOTONS) -> TonWallet:
        """Return a new wallet with coin and USDT."""
        wallet = TonWallet()
        if nanotons:
            self.fund(wallet.address, nanotons=nanotons)
        if units:
            self.mint(wallet.address, units)
        return wallet

    def pay(
        self,
        owner: str,
        units: int,
        comment: str | None = None,
        *,
        payer: TonWallet | None = None,
        jetton: str | None = None,
        **options: Any,
    ) -> str:
        """Pay as a wallet does; return what `send` does. `options` are those of Payment."""
        payment = Payment(owner, units, comment, **options)
        [tx_hash] = self.send([payment], payer=payer, jetton=jetton) or [""]
        return tx_hash

    def send(
        self, payments: Sequence[Payment], *, payer: TonWallet | None = None, jetton: str | None = None
    ) -> list[str]:
        """Send up to four transfers by one signed message.

        Returns the hashes (hexadecimal) of the transactions by which receiving jetton wallets took them; none for a transfer
        that failed.
        """
        sender = payer or self.payer
        envelopes = [self._envelope(each, sender, jetton) for each in payments]
        return self.send_envelopes(envelopes, payer=sender)

    def send_envelopes(self, envelopes: Sequence[Envelope], *, payer: TonWallet) -> list[str]:
        """Send any messages by one signed message; return what `send` does."""
        seqno = self.get("walletInformation", address=payer.address)["seqno"]
        boc = base64.b64encode(payer.sign(envelopes, seqno=seqno)).decode()
        message = self.post("message", {"boc": boc})["message_hash"]
        hashes = self._control("receipts", message=message)["hashes"]
        return [base64.b64decode(found).hex() for found in hashes]

    def jetton_wallet(self, owner: str, *, jetton: str | None = None) -> str:
        """The address of an owner's jetton wallet by the master contract, deployed or not."""
        document = {"owner": owner, "master": jetton or self.usdt}
        return str(self._control("jetton_wallet", **document)["address"])

    def balance(self, owner: str, *, jetton: str | None = None) -> int:
        """How many units an owner has."""
        query = {"owner_address": owner, "jetton_address": jetton or self.usdt}
        rows = self.get("jetton/wallets", **query)["jetton_wallets"]
        return int(rows[0]["balance"]) if rows else 0

    def _envelope(self, payment: Payment, payer: TonWallet, jetton: str | None) -> Envelope:
        self._query_id += 1
        body = transfer_body(payment, response=payer.address, query_id=self._query_id)
        wallet = self.jetton_wallet(payer.address, jetton=jetton)
        return Envelope(wallet, payment.attached_nanotons, body)

    def _control(self, action: str, **document: Any) -> Any:
        return self._exchange("POST", f"/control/{action}", document)

    def _exchange(self, verb: str, target: str, document: Any = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            body = None if document is None else json.dumps(document)
            connection.request(verb, target, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            answer = json.loads(response.read())
        finally:
            connection.close()
        if response.status != 200:
            raise NodeError(response.status, str(answer.get("error")), answer)
        return answer

    def _read_banner(self, output: IO[bytes]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            text = os.pread(output.fileno(), 65_536, 0).decode(errors="replace")
            found = re.search(r"^Listening on 127\.0\.0\.1:(\d+)$", text, re.MULTILINE)
            if found:
                self.port = int(found[1])
                return
            if self._process is not None and self._process.poll() is not None:
                raise NodeStartError(f"The TON node ended at once: {text[-500:]}")
            time.sleep(POLL_SECONDS)
        raise NodeStartError(f"The TON node did not start within {START_SECONDS:.0f} s.")
