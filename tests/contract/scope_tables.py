"""script/scopes: writes the tables of scopes into the documents, from the routes and presets that there are."""

from collections import defaultdict
from typing import Any, Final

from accounts.keys.scopes import PRESETS
from gateway.core.api.scopes import Scope
from tests.routes import API, described, operations, written_routes
from tests.tree import ROOT

OPEN: Final = {("GET", "chains"), ("GET", "currencies"), ("GET", "openapi.json")}
"""Operations that ask for no key."""

THEFT: Final = {
    Scope.CHECKOUTS_READ: "read checkouts, with what buyers left there, what became of a transaction, and what disrupts your payments",
    Scope.CHECKOUTS_WRITE: "create and cancel checkouts, and choose their webhook and redirect",
    Scope.ESCROW_RELEASE: "release money that is held in escrow, to your wallet",
    Scope.LINKS_READ: "read payment links",
    Scope.LINKS_WRITE: "create and change links, also where one reports its payments and sends its payers; owners get a mail of that",
    Scope.EVENTS_READ: "read events, with the checkouts and payments of machines in them; events of inbox items, refunds and payouts only with the scope that reads these",
    Scope.INBOX_READ: "read money that no rule could credit, with what its payers wrote and the checkouts it may be for",
    Scope.PAYOUTS_READ: "read refunds and payouts, with their recipients' addresses and e-mail addresses",
    Scope.PAYOUTS_REQUEST: "ask for refunds and payouts to addresses of its own, change where others go until they are approved, except those that your people asked for with an address, and cancel those that are not sent: your people approve and sign them",
    Scope.REPORTS_READ: "read totals, transactions and settlements",
    Scope.TERMINALS_READ: "read terminals, their devices and their sales",
    Scope.TERMINALS_WRITE: "add and revoke terminals, and pair a device of its own, which charges people to your wallets, cancels unpaid sales there and mails receipts of paid ones",
    Scope.WALLETS_READ: "read watched wallets and their transfers",
    Scope.WALLETS_WRITE: "add, rename and remove watched wallets",
    Scope.WEBHOOKS_READ: "read your webhook endpoints, without their secrets, and whether each delivery arrived and what your server answered",
    Scope.WEBHOOKS_WRITE: "send events to an endpoint of its own, change and delete endpoints that were added, of which owners get a mail; events of inbox items, refunds and payouts only with the scope that reads these",
    Scope.X402_READ: "read payments of machines",
    Scope.X402_VERIFY: "use up a proof of payment, have offers of prices signed, and read your machines' addresses",
    Scope.X402_SETTLE: "settle payments of machines, and send what was collected to your wallet",
}
"""What the thief of a live key can do with each scope."""

GUIDE: Final = ROOT / "docs/guide/keys.md"
CUSTODY: Final = ROOT / "docs/guide/custody.md"
README: Final = ROOT / "README.md"


def scope_of(method: str, route: str) -> Scope | None:
    """Return the scope that an operation's resource names. Raises KeyError where it names none."""
    found = next(each for each in written_routes() if each.path == API + route)
    view: Any = found.pattern.callback
    scope: Scope | None = view.cls.scopes[view.actions[method.lower()]]
    return scope


def guarded() -> list[tuple[str, str]]:
    """Return every operation that asks for a key: its method, and its route below /api/v1/."""
    return [operation for operation in operations() if operation not in OPEN]


def with_tables(text: str) -> str:
    """Return a document with today's rows below the heads of its tables of scopes."""
    for head, rows in _tables().items():
        before, found, after = text.partition(head)
        if not found:
            continue
        lines = after.split("\n")
        end = next(place for place, line in enumerate(lines) if not line.startswith("|"))
        text = before + head + "".join(f"{row}\n" for row in rows) + "\n".join(lines[end:])
    return _counted(text)


def _tables() -> dict[str, list[str]]:
    opens: dict[Scope | None, list[str]] = defaultdict(list)
    for method, route in guarded():
        path = described(route)
        opens[scope_of(method, route)].append(f"`{method} /{path}`")
    scopes = [f"| `{scope}` | {', '.join(opens[scope])} | {THEFT[scope]} |" for scope in Scope]
    presets = [
        f"| {preset.label} | {', '.join(f'`{scope}`' for scope in found)} |" for preset, found in PRESETS.items()
    ]
    thefts = [f"| {preset.label} | {'; '.join(THEFT[scope] for scope in found)} |" for preset, found in PRESETS.items()]
    return {
        "| scope | opens | who steals such a live key can |\n|---|---|---|\n": scopes,
        "| preset | scopes |\n|---|---|\n": presets,
        "| preset | who steals such a live key can |\n|---|---|\n": thefts,
    }


def _counted(text: str) -> str:
    """Return the README with the number of scopes in its comparison."""
    head = "| scopes of API keys | "
    before, found, after = text.partition(head)
    if not found:
        return text
    return f"{before}{head}{len(Scope)}, {len(PRESETS)} presets, end, networks{after[after.index(' |') :]}"


def main() -> None:
    """Write the documents anew."""
    for path in (GUIDE, CUSTODY, README):
        path.write_text(with_tables(path.read_text()))
