"""What callers ask of a report, read and checked already."""

from dataclasses import dataclass
from datetime import datetime

from accounts.states import Mode
from wallets.states import Direction


@dataclass(frozen=True, slots=True)
class ReportFilter:
    """Which transfers of a merchant and mode a report is about, by the time of their blocks: `since` <= time < `until`.

    `wallet` is an address in its chain's canonical form. Empty texts leave nothing out.
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
