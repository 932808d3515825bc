"""The guide's program that signs a proof."""

from dataclasses import replace

from eth_account import Account

from tests.guides import running
from x402.byhash.signatures import is_signed_by_payer
from x402.inputs import Proof, Requirements

SECRET = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
PAY_TO = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
WANTED = Requirements("base", "USDC", 500_000, "https://shop.example/report/7")


def test_what_the_guides_program_signs_is_accepted_for_its_resource_alone() -> None:
    [program] = running("docs/guide/x402.md", "python")
    names: dict[str, object] = {}
    exec(program.code, names)
    sign = names["sign_proof"]
    assert callable(sign)
    payer = Account.from_key(SECRET).address
    proof = Proof("0x" + "5a" * 32, "base", "USDC", 500_000, payer, PAY_TO)
    signature = sign(SECRET, proof.tx_hash, PAY_TO, WANTED.resource)
    signed = replace(proof, signature=signature)
    assert is_signed_by_payer(signed, WANTED) is True
    assert is_signed_by_payer(signed, replace(WANTED, resource="/other")) is False
