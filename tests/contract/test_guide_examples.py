"""Every program in the documentation is run by a test as it is written, or says why it is not.

Shell blocks run here. `RUN_BY` names the tests that run the others.
"""

import json
import os
import re
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from PIL import Image
from pytest_django.live_server_helper import LiveServer

from accounts.states import Mode
from tests.contract.client import ApiClient, client_of
from tests.contract.payments import pay
from tests.database import own_database
from tests.factories import make_user
from tests.guides import Program, programs, programs_of, run
from tests.rates.playing import price_in, store_rates
from tests.tree import ROOT

pytestmark = [pytest.mark.django_db(transaction=True)]

RUN_BY = {
    ("README.md", "python"): "tests/test_repository.py",
    ("clients/python/README.md", "python"): "tests/clients/test_documentation.py",
    ("docs/guide/checkouts.md", "ts"): "tests/contract/test_shop_guide.py",
    ("docs/guide/demo.md", "sh"): "tests/demo/management/commands/test_demo.py",
    ("docs/guide/from-btcpay.md", "python"): "tests/webhooks/test_signatures_guides.py",
    ("docs/guide/webhooks.md", "go"): "tests/webhooks/test_signatures_guides.py",
    ("docs/guide/webhooks.md", "php"): "tests/webhooks/test_signatures_guides.py",
    ("docs/guide/webhooks.md", "python"): "tests/webhooks/test_signatures_guides.py",
    ("docs/guide/webhooks.md", "ts"): "tests/webhooks/test_signatures_guides.py",
    ("docs/guide/x402-clients.md", "js"): "tests/clients/test_documentation.py",
    ("docs/guide/x402-clients.md", "python"): "tests/clients/test_documentation.py",
    ("docs/guide/x402.md", "python"): "tests/x402/byhash/test_forms.py",
    **{
        ("docs/guide/quickstart.md", language): "tests/contract/test_quickstart.py"
        for language in ("sh", "python", "ts", "php", "go")
    },
}
"""The test that runs the blocks of a page in a language."""

CURRENCIES = "docs/guide/currencies.md"
ERRORS = "docs/guide/errors.md"
DEMO_COMMAND = "manage.py demo_x402"


def runner_of(program: Program) -> str:
    """The file of the test that runs a program; empty if none does."""
    if DEMO_COMMAND in program.code:
        return "tests/demo/management/commands/test_demo.py"
    here = "tests/contract/test_guide_examples.py" if program.language == "sh" else ""
    return RUN_BY.get((program.page, program.language), here)


ALL = list(programs())
SHELL = [each for each in ALL if not each.reason and Path(runner_of(each)) == Path(__file__).relative_to(ROOT)]


def unaccounted(found: Iterable[Program]) -> list[str]:
    """The programs that neither say why they are not run nor belong to a test that names their page."""
    return [
        str(each)
        for each in found
        if not each.reason
        and (
            not runner_of(each) or (each not in SHELL and f'"{each.page}"' not in (ROOT / runner_of(each)).read_text())
        )
    ]


def test_each_program_is_run_or_says_why_it_is_not() -> None:
    assert len(SHELL) >= 12
    assert unaccounted(ALL) == []
    assert set(RUN_BY) <= {(each.page, each.language) for each in ALL if not each.reason}


def test_a_program_that_no_test_runs_is_found() -> None:
    text = "```php\n<?php\n```\n\n```php not run: it is yours\n<?php\n```\n"
    assert unaccounted(programs_of("docs/guide/links.md", text)) == ["links-0-php"]


def checkout_for(code: str, client: ApiClient) -> str:
    """A checkout that the example can be about: one that is paid where it releases escrow, refunds or proves, else one that waits."""
    if not any(path in code for path in ("/release", "/refunds", "/receipt")):
        return str(client.created()["id"])
    checkout_id = str(client.created(escrow="/release" in code)["id"])
    pay(checkout_id)
    return checkout_id


def here(program: Program, server: str) -> Program:
    """The program with the places of this test instead of those of a clone and of the demo."""
    code = program.code.replace("http://127.0.0.1:8000", server)
    code = code.replace(" manage.py ", f" {ROOT}/manage.py ")
    return replace(program, code=code.replace(".venv/bin/python", sys.executable))


@pytest.mark.parametrize("program", SHELL, ids=str)
def test_a_shell_example_succeeds(
    live_server: LiveServer, tmp_path: Path, settings: Any, program: Program, empty_nodes: dict[str, str]
) -> None:
    # As in the demo.
    settings.WEBHOOK_ALLOW_LOOPBACK = True
    if program.page == CURRENCIES:
        price_in(settings, "EUR")
        store_rates({"EUR": "1.09"})
    # A test key plays all six chains.
    client = client_of(mode=Mode.TEST)
    key, merchant = client.key, client.merchant
    assert key
    assert merchant
    # One page shows an error.
    fails = "" if program.page == ERRORS else "fail\n"
    (tmp_path / ".curlrc").write_text(f"silent\nshow-error\n{fails}")
    # An operator is appointed among people with a login.
    make_user("ines@halden.example")
    Image.new("RGB", (64, 64), "teal").save(tmp_path / "logo.png")
    code = f"exec <<'END'\na long password of the owner\nEND\n{program.code}"
    printed = run(
        here(replace(program, code=code), live_server.url),
        tmp_path,
        {
            "BASE_URL": live_server.url,
            "CHECKOUT_ID": checkout_for(program.code, client),
            "MERCHANT_ID": merchant.public_id,
            **own_database(),
            "REDIS_URL": os.environ["REDIS_URL"],
            # A merchant's wallets are looked up on their chains.
            **{f"CHAIN_{name}": url for name, url in empty_nodes.items()},
            "FLORIN_ENV": "development",
            "ENCRYPTION_KEYS": Fernet.generate_key().decode(),
            **dict.fromkeys(("LIVE_KEY", "TEST_KEY", "API_KEY"), key),
        },
    )
    assert printed
    if program.code.startswith("curl"):
        assert json.loads(printed)
    if program.page == ERRORS:
        [shown] = re.findall(r"^```json\n(.*?)^```", (ROOT / ERRORS).read_text(), re.MULTILINE | re.DOTALL)
        assert json.loads(printed) == json.loads(shown)
