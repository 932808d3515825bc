"""Reads an accountant's file with pandas: its path as the argument. Runs with var/pandas's Python. Prints what it found as JSON."""

import json
import sys
from decimal import Decimal

import pandas as pd

AMOUNTS = ("gross", "refund", "sent", "net", "usd_value", "fee", "net_usd", "network_fee")


def main(path: str) -> None:
    """Print the columns, the rows of each kind, the sums of the amounts in exact numbers, and the span of times."""
    found = pd.read_csv(path, dtype=str, keep_default_na=False)
    numbers = found[list(AMOUNTS)].map(lambda text: Decimal(text or 0))
    usual = pd.read_csv(path, parse_dates=["time_utc"])
    told = {
        "columns": list(found.columns),
        "kinds": {str(kind): int(rows) for kind, rows in found["kind"].value_counts().items()},
        "sums": {name: str(numbers[name].sum()) for name in AMOUNTS},
        # As pandas reads it by itself: amounts as numbers, times as times.
        "numeric": [name for name in AMOUNTS if pd.api.types.is_numeric_dtype(usual[name])],
        "first": usual["time_utc"].min().isoformat(),
    }
    sys.stdout.write(json.dumps(told))


main(sys.argv[1])
