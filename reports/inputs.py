"""Validated inputs of reports."""

from dataclasses import dataclass
from datetime import datetime

from accounts.states import Mode
from wallets.states import Direction


@dataclass(frozen=True, slots=True)
class ReportFilter:
    """The filters of a report: merchant, mode, and the time of blocks: `since` <= time < `until`.

    `wallet` is an address in its chain's canonical form. Empty texts exclude nothing.
    """

    merchant_id: int
    mode: Mode
    since: datetime | None = None
    until: datetime | None = None
    chain: str = ""
    token: str = ""
    direction: Direction | None = None
    tag: str = ""
    wallet: str = ""
