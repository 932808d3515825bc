"""Secrets that must be recoverable rest encrypted."""

import ast
import re
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured

from gateway.core import signing
from gateway.core.secrets import Resealed, SecretUnreadableError, seal, unseal
from payouts.lifecycle import claims
from tests.tree import ROOT, modules

OLD, NEW = Fernet.generate_key().decode(), Fernet.generate_key().decode()


def test_a_secret_is_read_after_the_keys_were_turned_over(settings: Any) -> None:
    settings.ENCRYPTION_KEYS = [OLD]
    sealed = seal("whsec_a")
    assert b"whsec_a" not in sealed
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    assert unseal(sealed) == "whsec_a"


def test_new_secrets_need_the_new_key(settings: Any) -> None:
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    sealed = seal("whsec_a")
    settings.ENCRYPTION_KEYS = [OLD]
    with pytest.raises(SecretUnreadableError):
        unseal(sealed)


def test_without_keys_nothing_is_kept(settings: Any) -> None:
    settings.ENCRYPTION_KEYS = []
    with pytest.raises(ImproperlyConfigured, match="ENCRYPTION_KEYS"):
        seal("whsec_a")


def test_renewing_counts_and_leaves_what_is_current(settings: Any) -> None:
    settings.ENCRYPTION_KEYS = [OLD]
    sealed = seal("whsec_a")
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    counted = Resealed()
    renewed = counted.renew(sealed)
    assert renewed is not None
    assert counted.renew(renewed) is None
    assert counted.renew(b"no token") is None
    assert counted == Resealed(current=1, older=1, unreadable=1)
    settings.ENCRYPTION_KEYS = [NEW]
    assert unseal(renewed) == "whsec_a"


# What is derived, and how its names begin. Two secrets of one name would be the same bytes.
NAMED = {
    "deposit addresses": "deposit:",
    "claim pages": claims._name(""),
    "push": "vapid",
    **{f"signing, {purpose}": name for purpose, (name, _) in signing._NAMES.items()},
}
DERIVED = {
    ("checkouts/creation/service.py", "f'deposit:{public_id}'"),
    ("gateway/management/commands/rotate_keys.py", "f'deposit:{public_id}'"),
    ("gateway/restores/service.py", "f'deposit:{public_id}'"),
    ("gateway/core/signing.py", "name"),
    ("payouts/lifecycle/claims.py", "_name(public_id)"),
    ("payouts/lifecycle/claims.py", "_name(payout.public_id)"),
    ("webhooks/push.py", "'vapid'"),
}
"""Every place that derives a secret, and by which name. `gateway.core.signing` reads its names from `_NAMES`."""
DERIVING = {"derive", "derivations"}


def derivations_in(source: str) -> Iterator[str]:
    """The names by which a module derives secrets, as it writes them."""
    for node in ast.walk(ast.parse(source)) if DERIVING & set(re.findall(r"\w+", source)) else ():
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in DERIVING:
            yield ast.unparse(node.args[0])


def test_no_secret_is_derived_by_a_name_that_may_be_anothers() -> None:
    secrets = {path: (ROOT / path).read_text() for path in modules() if path.as_posix() != "gateway/core/secrets.py"}
    found = {(path.as_posix(), name) for path, text in secrets.items() for name in derivations_in(text)}
    assert found == DERIVED
    assert len(NAMED) == 5
    assert [pair for pair in permutations(NAMED.values(), 2) if pair[0].startswith(pair[1])] == []


def test_the_rule_sees_a_secret_of_another_name() -> None:
    source = "key = derive(f'gas:{chain}')\nold = secrets.derivations('gas')\n"
    assert list(derivations_in(source)) == ["f'gas:{chain}'", "'gas'"]
