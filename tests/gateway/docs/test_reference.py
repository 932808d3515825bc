"""The reference names every error code, event and operation of this version, and nothing else."""

import json
import re

from django.conf import settings

from gateway.docs.pages import pages
from gateway.pages.api_document import document
from tests.contract.test_error_codes import STATUS_OF
from tests.tree import ROOT

GUIDE = ROOT / "docs" / "guide"


def test_each_error_code_has_its_entry_and_each_entry_its_code() -> None:
    entries = re.findall(r"^### (\w+)$", (GUIDE / "errors.md").read_text(), re.MULTILINE)
    assert sorted(entries) == sorted(STATUS_OF)


def test_each_error_code_stands_below_its_status_with_a_cause_and_a_remedy() -> None:
    text = (GUIDE / "errors.md").read_text()
    for part in text.split("\n## ")[1:]:
        statuses = {int(each) for each in re.findall(r"\d{3}", part.partition(":")[0])}
        for entry in part.split("\n### ")[1:]:
            code, _, words = entry.partition("\n")
            assert STATUS_OF[code] in statuses, code
            cause, _, remedy = words.strip().partition(" **What to do:** ")
            assert cause.endswith(".")
            assert remedy.endswith("."), code


def test_each_event_has_its_entry_and_each_entry_its_event() -> None:
    table = (GUIDE / "webhooks.md").read_text().partition("| event |")[2]
    # A row may be of a refund's and a payout's event.
    cells = re.findall(r"^\| (`[^|]+`) \|", table.partition("\n\n")[0], re.MULTILINE)
    rows = [name for cell in cells for name in re.findall(r"`([\w.]+)`", cell)]
    assert sorted(rows) == sorted(settings.WEBHOOK_EVENT_TYPES)
    reference = pages()["api/webhooks"].read()
    assert sorted(re.findall(r"^Event `([\w.]+)`$", reference, re.MULTILINE)) == sorted(rows)


def test_each_operation_has_its_entry_and_each_entry_its_operation() -> None:
    described = {
        f"{method.upper()} {path}"
        for path, operations in json.loads(document())["paths"].items()
        for method in operations
    }
    reference = "\n".join(page.read() for slug, page in pages().items() if slug.startswith("api/"))
    entries = re.findall(r"^`([A-Z]+ /api/v1/\S+)`$", reference, re.MULTILINE)
    assert sorted(entries) == sorted(described)
