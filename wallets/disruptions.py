"""What disrupts payments now, in the same words for buyers, merchants, operators and the API: one decision, one table.

The chains' disruptions are decided here, from cursors that are cached. Other apps add theirs as `Disruption`s, and take the
words from the same table.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from django.template.defaultfilters import date
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import npgettext, pgettext, pgettext_lazy

from gateway.core.times import iso_or_none
from wallets.networks import known_chains, watched_chains
from wallets.selectors import ChainHealth, chain_health
from wallets.states import ChainStatus, DownReason


class DisruptionKind(StrEnum):
    """What is wrong, the most serious first."""

    # A chain contradicts what was read: a person decides how it goes on.
    HALTED = "halted"
    REVERSED = "reversed"
    DOWN = "down"
    ENDPOINT_FAILING = "endpoint_failing"
    ENDPOINT_OFF = "endpoint_off"
    SOURCES_DISAGREE = "sources_disagree"
    GAS_LOW = "gas_low"
    DELAYED = "delayed"


class Reader(StrEnum):
    """Whom the words are for. The API tells a key what its merchant is told, and without a key what buyers are told."""

    BUYER = "buyer"
    MERCHANT = "merchant"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Disruption:
    """A disruption. `chain` is empty where it concerns none; `block` is the last one read of a halted chain.

    `endpoint` is the public id of a merchant's listed endpoint, where it concerns one. `affected` counts the reader's own payments,
    endpoints or accounts, and `orders` the merchant's orders at risk, where they were counted. With affected payments of a halted
    chain, `since` is when the first was made.
    """

    kind: DisruptionKind
    chain: str = ""
    since: datetime | None = None
    block: int | None = None
    affected: int = 0
    endpoint: str = ""
    orders: int = 0


class _Words(NamedTuple):
    """A kind's sentences: what is so, what it means for payments, what Florin does, and what each reader should do.

    `many` is the heading for a number of other than one. `at_risk` is the advice where the reader's payments are affected, `unpaid` to a
    buyer whose payment was not seen yet.
    """

    heading: str | Promise
    meaning: str | Promise
    doing: str | Promise
    advice: Mapping[Reader, str | Promise]
    many: str | Promise = ""
    at_risk: str | Promise = ""
    unpaid: str | Promise = ""


_PAY_ELSEWHERE: Final = _("Don't pay on it now, and don't pay again.")
_WAIT: Final = _("Please wait, and don't pay again.")
_UNSEEN: Final = _("Already paid? This page updates automatically.")
_PAID: Final = _("You have paid. Keep this page, and don't pay again.")
_CAUGHT_UP: Final = _("We read what we missed as soon as it answers.")

# What buyers may read is in all languages, what merchants may read beside it in those of the dashboard.
_TABLE: Final[Mapping[DisruptionKind, _Words]] = MappingProxyType(
    {
        DisruptionKind.HALTED: _Words(
            _("%(chain)s contradicts what it told us."),
            _("Recent payments on it may be lost, even confirmed ones."),
            _("We stopped reading it at block %(block)s. A person is checking it."),
            {
                Reader.BUYER: _PAY_ELSEWHERE,
                Reader.MERCHANT: pgettext_lazy("team", "None of your payments is affected."),
                Reader.OPERATOR: "Compare it with two explorers, then resume it.",
            },
            at_risk=pgettext_lazy("team", "Do not ship orders paid on %(chain)s since %(since)s (%(affected)s)."),
        ),
        DisruptionKind.REVERSED: _Words(
            pgettext_lazy("team", "A payment was reversed by the network."),
            _("The money is gone, unless the network takes the payment up again."),
            _("We watch for it to come back, and tell the shop at once."),
            {
                Reader.BUYER: _("Talk to the shop before you send anything again."),
                Reader.MERCHANT: pgettext_lazy("team", "Hold the goods back if you still can."),
                Reader.OPERATOR: "Compare its network with two explorers.",
            },
            many=pgettext_lazy("team", "%(count)s payments were reversed by the network."),
        ),
        DisruptionKind.DOWN: _Words(
            _("%(chain)s is not answering."),
            _("Payments on it can't be seen now. No payment is lost."),
            _CAUGHT_UP,
            {
                Reader.BUYER: _PAY_ELSEWHERE,
                Reader.MERCHANT: pgettext_lazy(
                    "team", "You need not do anything: it is not offered to buyers until it answers."
                ),
                Reader.OPERATOR: "See why its nodes do not answer.",
            },
        ),
        DisruptionKind.ENDPOINT_FAILING: _Words(
            _("The shop's server does not answer our webhooks."),
            _("It learns late what was paid. No payment is lost."),
            _("We keep each event, and send it once it answers."),
            {
                Reader.BUYER: _PAID,
                Reader.MERCHANT: pgettext_lazy("team", "Open the failing delivery to see why."),
                Reader.OPERATOR: "Tell the merchant, or see whether this server reaches it.",
            },
            many=pgettext_lazy("team", "%(count)s servers do not answer our webhooks."),
        ),
        DisruptionKind.ENDPOINT_OFF: _Words(
            _("Webhooks to the shop's server are switched off."),
            _("It does not learn what is paid. No payment is lost."),
            _("We keep each event, and send it once they are switched on again."),
            {
                Reader.BUYER: _PAID,
                Reader.MERCHANT: pgettext_lazy(
                    "team", "Enable them once your server answers: we do not try it before."
                ),
                Reader.OPERATOR: "Tell the merchant: only its team can enable them.",
            },
            many=pgettext_lazy("team", "Webhooks to %(count)s servers are switched off."),
        ),
        DisruptionKind.SOURCES_DISAGREE: _Words(
            _("Two sources of %(chain)s disagree."),
            _("Payments on it are checked before they count."),
            _("We compare the sources until they agree."),
            {
                Reader.BUYER: _WAIT,
                Reader.MERCHANT: pgettext_lazy("team", "Ship orders once they are completed, as always."),
                Reader.OPERATOR: "See which of its nodes is wrong.",
            },
            unpaid=_UNSEEN,
        ),
        DisruptionKind.GAS_LOW: _Words(
            _("The gas account on %(chain)s is nearly empty."),
            _("Settlements and payments without a network fee wait there. Other payments do not."),
            _("We send what waits once it is topped up."),
            {
                Reader.BUYER: _("If you have not paid yet, pay the network fee yourself."),
                Reader.MERCHANT: pgettext_lazy("team", "You need not do anything: the operator was told."),
                Reader.OPERATOR: "Send coins to its address.",
            },
        ),
        DisruptionKind.DELAYED: _Words(
            _("%(chain)s is delayed."),
            _("Payments on it take longer to show. No payment is lost."),
            _("We are catching up with it."),
            {
                Reader.BUYER: _WAIT,
                Reader.MERCHANT: pgettext_lazy("team", "You need not do anything."),
                Reader.OPERATOR: "See whether its nodes are slow, or the watcher.",
            },
            unpaid=_UNSEEN,
        ),
    }
)
_NO_BLOCK: Final = _("We stopped reading it. A person is checking it.")
_ORDER: Final = tuple(DisruptionKind)
_URGENT: Final = frozenset({DisruptionKind.REVERSED, DisruptionKind.ENDPOINT_FAILING, DisruptionKind.ENDPOINT_OFF})


@dataclass(frozen=True, slots=True)
class Told:
    """A disruption in words for one reader, as `templates/parts/disruption.html` shows it and the API answers it."""

    kind: DisruptionKind
    chain: str
    since: datetime | None
    block: int | None
    heading: str
    meaning: str
    doing: str
    advice: str
    reader: Reader
    is_urgent: bool

    def as_json(self) -> dict[str, Any]:
        """Return it for programs."""
        return {
            "kind": self.kind,
            "chain": self.chain or None,
            "since": iso_or_none(self.since),
            "block": self.block,
            "heading": self.heading,
            "meaning": self.meaning,
            "doing": self.doing,
            "advice": self.advice,
        }


def tell(disruption: Disruption, reader: Reader, *, is_unpaid: bool = False) -> Told:
    """Say a disruption in the current language; `is_unpaid` on the page of a checkout for which nothing came yet."""
    kind, words = disruption.kind, _TABLE[disruption.kind]
    is_at_risk = bool(words.at_risk and disruption.affected)
    heading = words.many if words.many and disruption.affected != 1 else words.heading
    doing = _NO_BLOCK if kind == DisruptionKind.HALTED and disruption.block is None else words.doing
    advice = words.unpaid if is_unpaid and words.unpaid else words.advice[reader]
    facts = _facts(disruption)
    return Told(
        kind=kind,
        chain=disruption.chain,
        since=disruption.since,
        block=disruption.block,
        heading=str(heading) % facts,
        meaning=str(words.meaning) % facts,
        doing=str(doing) % facts,
        advice=str(words.at_risk if is_at_risk else advice) % facts,
        reader=reader,
        # A buyer has lost nothing by a server that does not answer, and reads of a reversal in the page's own heading.
        is_urgent=is_at_risk or (kind in _URGENT and reader != Reader.BUYER),
    )


def _facts(disruption: Disruption) -> dict[str, object]:
    spec, since = known_chains().get(disruption.chain), disruption.since
    count = disruption.affected
    return {
        "chain": spec.title if spec else disruption.chain,
        "block": disruption.block,
        "since": f"{date(since.astimezone(UTC), pgettext('team', 'j M, H:i'))} UTC" if since else "",
        "count": f"{count:,}",
        "affected": npgettext("team", "%(count)s payment", "%(count)s payments", count) % {"count": f"{count:,}"},
    }


def chain_disruptions(*, now: datetime) -> list[Disruption]:
    """Return what disrupts the chains that have a node, and which are halted, the most serious first.

    Reads cursors that are a second old at most.
    """
    watched = {spec.name for spec in watched_chains()}
    found = [
        one
        for health in chain_health(now=now, specs=known_chains().values())
        for one in disruptions_of(health)
        if health.chain in watched or one.kind == DisruptionKind.HALTED
    ]
    return by_severity(found)


def by_severity(found: Iterable[Disruption]) -> list[Disruption]:
    """Return disruptions, the most serious first; of one kind as they came."""
    return sorted(found, key=lambda one: _ORDER.index(one.kind))


def worst_by_chain(*, now: datetime) -> dict[str, Disruption]:
    """Return the worst disruption of each disrupted chain, those without a node included. Reads cursors as above.

    `since` of a delayed chain is left out: it moves with each reading, and whoever follows would be told each time.
    """
    found = {}
    for health in chain_health(now=now, specs=known_chains().values()):
        for one in disruptions_of(health)[:1]:
            is_moving = one.kind == DisruptionKind.DELAYED
            found[health.chain] = replace(one, since=None) if is_moving else one
    return found


def disruptions_of(health: ChainHealth) -> list[Disruption]:
    """Return what disrupts a chain, the worst first."""
    found = []
    if health.reason == DownReason.HALTED:
        since = health.halted_at or health.known_until
        found.append(Disruption(DisruptionKind.HALTED, health.chain, since, health.height))
    elif health.status != ChainStatus.OK:
        kind = DisruptionKind.DOWN if health.status == ChainStatus.DOWN else DisruptionKind.DELAYED
        found.append(Disruption(kind, health.chain, health.known_until))
    if health.disagreeing_since is not None:
        found.append(Disruption(DisruptionKind.SOURCES_DISAGREE, health.chain, health.disagreeing_since))
    return by_severity(found)
