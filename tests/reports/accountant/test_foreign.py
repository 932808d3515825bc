"""The accountant's file in programs of others: pandas, and LibreOffice where it is installed."""

import csv
import io
import json
import shutil
import subprocess
from collections import Counter
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pytest

from accounts.models import Merchant
from accounts.states import Mode
from gateway.core.exports import csv_pieces
from reports.accountant.files import COLUMNS, own_cells
from reports.accountant.lines import month_lines
from reports.accountant.places import month_filter
from tests.reports.accountant.books import FIRST, RandomBooks
from tests.reports.accountant.test_files import BERLIN
from tests.reports.takings import earn
from tests.tree import ROOT

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

_READ: Final = Path(__file__).parent / "foreign" / "read.py"
_SECONDS: Final = 120


@pytest.fixture
def file(merchant: Merchant, tmp_path: Path) -> Path:
    """A quarter of random books, and an order whose reference looks like a formula."""
    RandomBooks(merchant, 11).fill(40)
    earn(merchant, order_ref='=SUM(A1:A9);"Müller", 007', block_time=FIRST + timedelta(days=3))
    lines = month_lines(month_filter(merchant.pk, Mode.LIVE, FIRST, FIRST + timedelta(days=100)))
    path = tmp_path / "accountant.csv"
    path.write_text("".join(csv_pieces(COLUMNS, own_cells(lines, BERLIN))), encoding="utf-8", newline="")
    return path


def rows_of(path: Path) -> list[dict[str, str]]:
    """The file as Python's csv reads it."""
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"))))


def totals(rows: list[dict[str, str]], columns: tuple[str, ...]) -> dict[str, Decimal]:
    """The exact sums of columns."""
    return {name: sum((Decimal(row[name]) for row in rows if row[name]), Decimal(0)) for name in columns}


def test_pandas_reads_the_columns_and_the_same_sums(file: Path) -> None:
    subprocess.run(["sh", "-eu", "-c", ". script/_setup.sh; setup_pandas"], cwd=ROOT, check=True)
    python = ROOT / "var" / "pandas" / "bin" / "python"
    ran = subprocess.run([python, _READ, file], capture_output=True, text=True, timeout=_SECONDS, check=False)
    assert ran.returncode == 0, ran.stderr
    told: dict[str, Any] = json.loads(ran.stdout)
    rows = rows_of(file)
    assert told["columns"] == list(COLUMNS)
    assert told["kinds"] == Counter(row["kind"] for row in rows)
    assert {name: Decimal(text) for name, text in told["sums"].items()} == totals(rows, tuple(told["sums"]))
    assert set(told["numeric"]) == set(told["sums"])
    assert told["first"].startswith(rows[0]["time_utc"][:19])


def test_libreoffice_reads_the_same_sums_and_runs_nothing(file: Path, tmp_path: Path) -> None:
    soffice = shutil.which("soffice")
    if soffice is None:
        pytest.skip("this machine lacks LibreOffice: it is not shown that it reads the accountant's file")
    # Read and written as UTF-8 with commas; numbers are written as it understood them, not as it shows them.
    text = "Text - txt - csv (StarCalc):44,34,76,1,,1033,false"
    command = [soffice, "--headless", f"-env:UserInstallation=file://{tmp_path}/profile", f"--infilter={text},true"]
    ran = subprocess.run(
        [*command, "--convert-to", f"csv:{text},false", "--outdir", str(tmp_path / "out"), str(file)],
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    rows, read = rows_of(file), rows_of(tmp_path / "out" / file.name)
    assert len(read) == len(rows)
    assert list(read[0]) == list(COLUMNS)
    # Other tokens have more digits than its numbers.
    short = [[row for row in some if row["token"] != "DAI"] for some in (read, rows)]
    amounts = ("gross", "refund", "sent", "net", "usd_value", "fee", "net_usd")
    assert totals(short[0], amounts) == totals(short[1], amounts)
    assert '\'=SUM(A1:A9);"Müller", 007' in {row["order_ref"] for row in read}
