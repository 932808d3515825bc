"""What `manage.py chains` tells an operator, run here and now."""

import json
from io import StringIO
from typing import Any

from django.core.management import call_command

from localnet.tokens import token_address

USDC = token_address("USDC")


def run(*arguments: str) -> str:
    """What the command prints."""
    output = StringIO()
    call_command("chains", *arguments, stdout=output, stderr=StringIO())
    return output.getvalue()


def as_json() -> dict[str, Any]:
    """What it tells of each chain, by name."""
    return {one["chain"]: one for one in json.loads(run("--json"))}
