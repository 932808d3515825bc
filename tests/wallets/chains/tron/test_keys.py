"""tronpy signs the same with coincurve and, as on Python 3.14, without it."""

import json
import subprocess
import sys
from typing import Any

from tests.tree import ROOT

WITHOUT_COINCURVE = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "coincurve":
            raise ModuleNotFoundError("No module named 'coincurve'", name="coincurve")

sys.meta_path.insert(0, Missing())
"""
USE_KEYS = """
import hashlib, json
from wallets.chains.tron.keys import PrivateKey, PublicKey, TronSignature
import tronpy
from eth_keys.backends import get_backend
from tronpy.exceptions import BadSignature
from tronpy.hdwallet._utils import ec_point
from tronpy.keys import SECPK1_N

def recovers(signature, digest):
    try:
        return PublicKey.recover_from_msg_hash(digest, signature).hex()
    except BadSignature:
        return "bad signature"

told = {"backend": type(get_backend()).__name__, "cases": []}
for number in range(1, 9):
    secret = hashlib.sha256(b"%d" % number).digest()
    digest = hashlib.sha256(secret).digest()
    key, other = PrivateKey(secret), PrivateKey(digest).public_key
    signature = key.sign_msg_hash(digest)
    s = (SECPK1_N - signature.s).to_bytes(32, "big")
    high = TronSignature(signature[:32] + s + bytes([1 - signature.v]))
    told["cases"].append([
        key.public_key.hex(),
        key.public_key.to_base58check_address(),
        ec_point(secret).hex(),
        signature.hex(),
        recovers(signature, digest) == key.public_key.hex(),
        recovers(TronSignature(bytes(65)), digest),
        signature.verify_msg_hash(digest, key.public_key),
        high.verify_msg_hash(digest, key.public_key),
        signature.verify_msg_hash(secret, key.public_key),
        signature.verify_msg_hash(digest, other),
    ])
print(json.dumps(told))
"""
KNOWN = (
    "8ded7aa813a3ed6548b2ca9ef6081fabb70611e680752fd54c79ea6e83cdf1d6"
    "65fa54a988b27a4bb17c66bb2cb6d72bcb35cb2ee6ff67aa399d5f3550cab8db00"
)
"""What coincurve signs with the first key."""


def run(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)


def told_by(script: str) -> dict[str, Any]:
    done = run(script)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_without_coincurve_tronpy_makes_and_accepts_the_same_signatures() -> None:
    without = told_by(WITHOUT_COINCURVE + USE_KEYS)
    assert without["backend"] == "NativeECCBackend"
    assert without["cases"][0][3] == KNOWN
    for case in without["cases"]:
        assert case[4:] == [True, "bad signature", True, True, False, False]
    if sys.version_info < (3, 14):
        with_it = told_by(USE_KEYS)
        assert with_it["backend"] == "CoinCurveECCBackend"
        assert without["cases"] == with_it["cases"]


def test_tronpy_alone_cannot_be_imported_without_coincurve() -> None:
    done = run(f"{WITHOUT_COINCURVE}\nimport tronpy")
    assert "ModuleNotFoundError: No module named 'coincurve'" in done.stderr
