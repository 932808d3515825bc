"""Who is told of what, and how: the choices of a team's members, with what is usual where they chose nothing."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from django.db.models import Q, QuerySet

from accounts.models import Membership, Merchant, User
from accounts.states import Mode, Role
from accounts.team.access import Seat
from accounts.team.permissions import Act
from notices.facts import Fact
from notices.models import Chat, Choice, Device
from notices.states import How, Kind, Way, usual

WAYS: Final[Mapping[Way, tuple[How, ...]]] = {
    Way.MAIL: (How.NEVER, How.AT_ONCE, How.DAILY),
    Way.PUSH: (How.NEVER, How.AT_ONCE),
}
"""The answers that each way has."""

Chosen = Mapping[tuple[Kind, Way], How]


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a team, with what they chose in one mode."""

    seat: Membership
    mode: Mode
    chosen: Chosen

    @property
    def role(self) -> Role:
        """Return the role."""
        return Role(self.seat.role)

    def is_told(self, kind: Kind) -> bool:
        """Return whether a kind is this person's to know of at all."""
        if kind == Kind.GAS:
            return self.seat.user.is_staff
        if kind == Kind.REFUND:
            seat = Seat(self.seat.user, self.seat.merchant, self.role, self.mode)
            return seat.can(Act.APPROVE_PAYOUTS)
        return True

    def how(self, kind: Kind, way: Way) -> How:
        """Return how the person is told of a kind."""
        if not self.is_told(kind):
            return How.NEVER
        return self.chosen.get((kind, way)) or usual(self.role, self.mode, kind, way)

    def kinds(self, how: How) -> list[Kind]:
        """Return the kinds of which the person is mailed so."""
        return [kind for kind in Kind if self.how(kind, Way.MAIL) == how]


def member_of(seat: Seat) -> Member | None:
    """Return the person of a request as a member of the team; None for an operator from outside."""
    found = _seats(Q(merchant=seat.merchant, user=seat.user)).first()
    return None if found is None else members([found], seat.mode)[0]


def member_by_key(key: int, mode: Mode) -> Member | None:
    """Return a member by the key of their membership; None if there is none any more."""
    found = _seats(Q(pk=key)).first()
    return None if found is None else members([found], mode)[0]


def team_of(merchants: Collection[int], mode: Mode) -> dict[int, list[Member]]:
    """Return the members of merchants, by merchant."""
    teams: dict[int, list[Member]] = defaultdict(list)
    for member in members(_seats(Q(merchant__in=merchants)).order_by("pk"), mode):
        teams[member.seat.merchant_id].append(member)
    return teams


def operators_seats(mode: Mode) -> list[Member]:
    """Return the operators' memberships."""
    return members(_seats(Q(user__is_staff=True)).order_by("pk"), mode)


def members(seats: Iterable[Membership], mode: Mode) -> list[Member]:
    """Return memberships with what their people chose in a mode."""
    seats = list(seats)
    chosen: dict[tuple[int, int], dict[tuple[Kind, Way], How]] = defaultdict(dict)
    rows = Choice.objects.filter(merchant__in={seat.merchant_id for seat in seats}, mode=mode)
    for row in rows.filter(user__in={seat.user_id for seat in seats}):
        chosen[row.user_id, row.merchant_id][Kind(row.kind), Way(row.way)] = How(row.how)
    return [Member(seat, mode, chosen[seat.user_id, seat.merchant_id]) for seat in seats]


def _seats(wanted: Q) -> QuerySet[Membership]:
    return Membership.objects.filter(wanted, user__is_active=True).select_related("user", "merchant")


def choose(user: User, merchant: Merchant, *, mode: Mode, chosen: Chosen) -> None:
    """Keep a person's choices at a merchant and mode. What is not among them stays."""
    Choice.objects.bulk_create(
        [
            Choice(user=user, merchant=merchant, mode=mode, kind=kind, way=way, how=how)
            for (kind, way), how in chosen.items()
        ],
        update_conflicts=True,
        unique_fields=["user", "merchant", "mode", "kind", "way"],
        update_fields=["how"],
    )


def payment_takers() -> set[tuple[int, str]]:
    """Return the merchants and modes whose payments somebody may be told of at once."""
    chosen = Choice.objects.filter(kind=Kind.PAYMENT, how=How.AT_ONCE).values_list("merchant", "mode")
    devices = Device.objects.values_list("merchant", flat=True).distinct()
    chats = Chat.objects.filter(kinds__contains=[Kind.PAYMENT]).values_list("merchant", "mode")
    return {*chosen, *((merchant, str(Mode.LIVE)) for merchant in devices), *chats}


def chats_of(facts: Collection[Fact]) -> dict[tuple[int, Mode], list[Chat]]:
    """Return the chats of the facts' merchants whose endpoints take something, by merchant and mode."""
    rows = Chat.objects.filter(merchant__in={one.merchant_id for one in facts}, endpoint__disabled_at=None)
    chats: dict[tuple[int, Mode], list[Chat]] = defaultdict(list)
    for chat in rows.select_related("endpoint", "merchant").order_by("pk"):
        chats[chat.merchant_id, Mode(chat.mode)].append(chat)
    return chats


def devices_of(merchants: Collection[int]) -> dict[tuple[int, int], list[Device]]:
    """Return the devices that take something, by user and merchant."""
    rows = Device.objects.filter(merchant__in=merchants, endpoint__disabled_at=None)
    devices: dict[tuple[int, int], list[Device]] = defaultdict(list)
    for device in rows.select_related("endpoint", "user").order_by("pk"):
        devices[device.user_id, device.merchant_id].append(device)
    return devices
