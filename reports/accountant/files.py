"""The files of a month: Florin's own columns, and those that Xero, QuickBooks and DATEV read.

Sources, as read in November 2026:

- Xero: its template for importing a bank statement, "*Date, *Amount, Payee, Description, Reference, Check Number", read by
  position, dates as ISO 8601 too, at most 1,000 lines a file.
- QuickBooks Online: "Prepare your CSV file for bank upload" of QuickBooks Help: Date, Description, Amount; no zero amounts.
- DATEV: "DATEV-Format, Buchungsstapel", developer.datev.de: header 700/21, format 13, 125 columns, Windows-1252.

`tests/reports/accountant/columns.json` has their columns, and a test compares.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from decimal import Decimal
from typing import Final

from django.utils.translation import gettext, gettext_noop

from gateway.core.currencies import USD, format_price
from gateway.core.exports import harmless
from gateway.core.money import EXACT, round_to_cent
from gateway.core.times import iso
from reports.accountant.lines import Line, LineKind
from reports.months import Month
from wallets.networks import chain_spec

COLUMNS: Final = """
    id date time time_utc kind order_ref description customer checkout_id subject_id chain token gross refund sent net
    usd_value fee net_usd network_fee network_fee_coin tx_hash explorer_url counterparty price price_currency
""".split()
"""The columns of the accountant's file. A release may add some at the end, and changes none."""

XERO: Final = ("*Date", "*Amount", "Payee", "Description", "Reference", "Check Number")
QUICKBOOKS: Final = ("Date", "Description", "Amount")

_WORDS: Final = {
    LineKind.PAYMENT: gettext_noop("Payment"),
    LineKind.MACHINE_PAYMENT: gettext_noop("Machine payment"),
    LineKind.UNCREDITED: gettext_noop("Not credited"),
    LineKind.OTHER_TOKEN: gettext_noop("Other token"),
    LineKind.REFUND: gettext_noop("Refund"),
    LineKind.PAYOUT: gettext_noop("Payout"),
    LineKind.WALLET_IN: gettext_noop("Into a watched wallet"),
    LineKind.WALLET_OUT: gettext_noop("Out of a watched wallet"),
    LineKind.SETTLEMENT: gettext_noop("Settlement"),
    LineKind.FEE: gettext_noop("Fee"),
}
_LONGEST: Final = 255
_NOTHING: Final = Decimal(0)

Cells = Sequence[object]


def kind_words(line: Line) -> str:
    """Return what a line is, in words."""
    words = gettext(_WORDS[line.kind])
    return gettext("%(kind)s, reversed") % {"kind": words} if line.is_reversal else words


def own_cells(lines: Iterable[Line], zone: tzinfo) -> Iterator[Cells]:
    """Return lines in `COLUMNS`. Amounts are numbers; an amount that a line does not have is empty."""
    return (_own(line, line.moment.astimezone(zone)) for line in lines)


def _own(line: Line, local: datetime) -> Cells:
    spec, usd = chain_spec(line.chain), line.usd
    return (
        line.id,
        f"{local:%Y-%m-%d}",
        f"{local:%H:%M:%S}",
        iso(line.moment),
        f"{line.kind}_reversed" if line.is_reversal else line.kind.value,
        line.order_ref or None,
        line.description or None,
        line.customer or None,
        line.checkout or None,
        line.subject or None,
        line.chain,
        line.token,
        line.received or None,
        line.refunded or None,
        line.sent or None,
        line.net,
        usd,
        line.fee,
        usd if usd is None or line.fee is None else EXACT.subtract(usd, line.fee),
        line.network_fee,
        line.coin or None,
        line.tx_hash or None,
        spec.transaction_url(line.tx_hash) if line.tx_hash and line.is_live else None,
        line.counterparty or None,
        None if line.price is None else Decimal(format_price(line.price, line.currency)),
        line.currency or None,
    )


def xero_cells(lines: Iterable[Line], zone: tzinfo) -> Iterator[Cells]:
    """Return lines in the columns of Xero's statement import: what moved, to a cent."""
    for line, cents in in_cents(lines):
        day = f"{line.moment.astimezone(zone):%Y-%m-%d}"
        yield day, cents, line.customer or line.counterparty, description_of(line), line.order_ref or line.id, None


def quickbooks_cells(lines: Iterable[Line], zone: tzinfo) -> Iterator[Cells]:
    """Return lines in the three columns of QuickBooks Online: what moved, to a cent. Days as MM/DD/YYYY."""
    for line, cents in in_cents(lines):
        yield f"{line.moment.astimezone(zone):%m/%d/%Y}", description_of(line), cents


def in_cents(lines: Iterable[Line]) -> Iterator[tuple[Line, Decimal]]:
    """Yield the lines that move US dollars, with the cents that they do.

    What a cent cannot show is carried to the next line, so that the cents add up to the exact sum, rounded once. A line of less
    than half a cent may be left out, and is then in the next one.
    """
    exact = shown = _NOTHING
    for line in lines:
        exact = EXACT.add(exact, line.usd or _NOTHING)
        cents = round_to_cent(exact) - shown
        if line.usd and cents:
            shown += cents
            yield line, cents


def description_of(line: Line) -> str:
    """Return a line's words for a bank statement: what it is, for what, and the exact amount of the token."""
    what = " ".join(filter(None, (kind_words(line), line.order_ref)))
    exact = f"{line.net:f} {line.token} on {chain_spec(line.chain).title}"
    return f"{what}: {line.description} ({exact})"[:_LONGEST] if line.description else f"{what} ({exact})"[:_LONGEST]


@dataclass(frozen=True, slots=True)
class DatevBooks:
    """Whose books DATEV's file is for: the numbers that the tax adviser has. Accounts have four to eight digits.

    `account` is that of the tokens, `contra_account` where their payments wait to be assigned.
    """

    adviser: int = 1001
    client: int = 1
    account: str = "1360"
    contra_account: str = "1590"


DATEV_FIELDS: Final = (
    "Umsatz (ohne Soll/Haben-Kz)",
    "Soll/Haben-Kennzeichen",
    "WKZ Umsatz",
    "Kurs",
    "Basis-Umsatz",
    "WKZ Basis-Umsatz",
    "Konto",
    "Gegenkonto (ohne BU-Schlüssel)",
    "BU-Schlüssel",
    "Belegdatum",
    "Belegfeld 1",
    "Belegfeld 2",
    "Skonto",
    "Buchungstext",
    "Postensperre",
    "Diverse Adressnummer",
    "Geschäftspartnerbank",
    "Sachverhalt",
    "Zinssperre",
    "Beleglink",
    *(f"Beleginfo - {part} {number}" for number in range(1, 9) for part in ("Art", "Inhalt")),
    "KOST1 - Kostenstelle",
    "KOST2 - Kostenstelle",
    "Kost-Menge",
    "EU-Land u. UStID",
    "EU-Steuersatz",
    "Abw. Versteuerungsart",
    "Sachverhalt L+L",
    "Funktionsergänzung L+L",
    "BU 49 Hauptfunktionstyp",
    "BU 49 Hauptfunktionsnummer",
    "BU 49 Funktionsergänzung",
    *(f"Zusatzinformation {part} {number}" for number in range(1, 21) for part in ("- Art", "- Inhalt")),
    "Stück",
    "Gewicht",
    "Zahlweise",
    "Forderungsart",
    "Veranlagungsjahr",
    "Zugeordnete Fälligkeit",
    "Skontotyp",
    "Auftragsnummer",
    "Buchungstyp",
    "USt-Schlüssel (Anzahlungen)",
    "EU-Land (Anzahlungen)",
    "Sachverhalt L+L (Anzahlungen)",
    "EU-Steuersatz (Anzahlungen)",
    "Erlöskonto (Anzahlungen)",
    "Herkunft-Kz",
    "Buchungs GUID",
    "KOST-Datum",
    "SEPA-Mandatsreferenz",
    "Skontosperre",
    "Gesellschaftername",
    "Beteiligtennummer",
    "Identifikationsnummer",
    "Zeichnernummer",
    "Postensperre bis",
    "Bezeichnung SoBil-Sachverhalt",
    "Kennzeichen SoBil-Buchung",
    "Festschreibung",
    "Leistungsdatum",
    "Datum Zuord. Steuerperiode",
    "Fälligkeit",
    "Generalumkehr (GU)",
    "Steuersatz",
    "Land",
    "Abrechnungsreferenz",
    "BVV-Position",
    "EU-Land u. UStID (Ursprung)",
    "EU-Steuersatz (Ursprung)",
    "Abw. Skontokonto",
)
_REFERENCE: Final = re.compile(r"[^0-9A-Za-z$&%*+/-]", re.ASCII)
_LONGEST_REFERENCE: Final = 36
_LONGEST_TEXT: Final = 60


def datev_pieces(
    lines: Iterable[Line], zone: tzinfo, month: Month, books: DatevBooks, *, now: datetime
) -> Iterator[bytes]:
    """Yield DATEV's file of booking entries (EXTF, Windows-1252): each line is money on the account, against the contra account.

    US dollars, to a cent, in the header (field 22, the default of the entries' field 3) and in each entry. An amount in another
    currency than the header's needs a rate and the amount in the books' currency (fields 4 to 6), which Florin does not know.
    """
    yield _datev_line(_datev_header(month, books, now.astimezone(zone)))
    yield _datev_line(DATEV_FIELDS)
    rows = in_cents(lines)
    for line, cents in rows:
        yield _datev_line(_datev_cells(line, cents, line.moment.astimezone(zone), books))


def _datev_header(month: Month, books: DatevBooks, now: datetime) -> list[str]:
    first, last = f"{month.year:04}{month.number:02}01", f"{month.year:04}{month.number:02}{month.days:02}"
    texts = {
        1: _quoted("EXTF"),
        2: "700",
        3: "21",
        4: _quoted("Buchungsstapel"),
        5: "13",
        6: f"{now:%Y%m%d%H%M%S}000",
        8: _quoted("FL"),
        11: str(books.adviser),
        12: str(books.client),
        13: f"{month.year:04}0101",
        14: str(len(books.account)),
        15: first,
        16: last,
        17: _quoted(f"Florin {month}"),
        19: "1",
        20: "0",
        21: "0",
        22: _quoted(USD),
    }
    return [texts.get(number, "") for number in range(1, 32)]


def _datev_cells(line: Line, cents: Decimal, local: datetime, books: DatevBooks) -> list[str]:
    texts = dict.fromkeys(DATEV_FIELDS, "") | {
        "Umsatz (ohne Soll/Haben-Kz)": f"{abs(cents):f}".replace(".", ","),
        "Soll/Haben-Kennzeichen": _quoted("S" if cents > 0 else "H"),
        "WKZ Umsatz": _quoted(USD),
        "Konto": books.account,
        "Gegenkonto (ohne BU-Schlüssel)": books.contra_account,
        "Belegdatum": f"{local:%d%m}",
        "Belegfeld 1": _quoted(_reference(line)),
        "Buchungstext": _quoted(harmless(description_of(line))[:_LONGEST_TEXT]),
    }
    return list(texts.values())


def _reference(line: Line) -> str:
    """Return the order, or the line, in the characters that DATEV takes; never what a spreadsheet would run."""
    plain = (_REFERENCE.sub("", text).lstrip("+-") for text in (line.order_ref, line.id))
    return next(filter(None, plain), "")[:_LONGEST_REFERENCE]


def _quoted(text: str) -> str:
    return '"' + " ".join(text.split()).replace('"', '""') + '"'


def _datev_line(cells: Iterable[str]) -> bytes:
    return (";".join(cells) + "\r\n").encode("cp1252", errors="replace")


CSV_FILES: Final[dict[str, tuple[Sequence[str], Callable[[Iterable[Line], tzinfo], Iterator[Cells]]]]] = {
    "accountant": (COLUMNS, own_cells),
    "xero": (XERO, xero_cells),
    "quickbooks": (QUICKBOOKS, quickbooks_cells),
}
"""The files in CSV: by name, their header and what makes their lines."""
