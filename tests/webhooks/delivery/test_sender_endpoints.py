"""What a sender remembers of the endpoints it serves."""

from webhooks.delivery.claims import ENDPOINT_ROOM, Claimed, Room, Work
from webhooks.delivery.formats import LANES
from webhooks.delivery.sender import LINGER_SECONDS, Roster, Served
from webhooks.health import PROBATION_AFTER, UNTOLD, AttemptResult
from webhooks.states import Format

FAILED = AttemptResult(500)
GONE = AttemptResult(410)
TAKEN = AttemptResult(200)


def work(*deliveries: int, failures: int = 0, form: Format = Format.FLORIN) -> list[Work]:
    """Deliveries of one endpoint, as a batch brings them."""
    return [
        Work(
            Claimed(
                delivery=number,
                delivery_id=f"whd_{number}",
                tries=0,
                endpoint=1,
                merchant=2,
                url="https://shop.example/hook",
                endpoint_failures=failures,
                event_id=f"evt_{number}",
                event_type="checkout.completed",
                subject_id="chk_live_1",
                body=b"{}",
                format=form,
            ),
            ["whsec_1"],
        )
        for number in deliveries
    ]


def serving(count: int = 0, *, failures: int = 0) -> Served:
    """An endpoint with so many deliveries queued."""
    served = Served(endpoint=1, merchant=2)
    served.accept(work(*range(count), failures=failures))
    return served


def test_an_endpoint_has_two_lanes_at_most_and_none_without_work() -> None:
    assert [serving(count).missing_lanes() for count in (0, 1, 2, 9)] == [0, 1, 2, 2]
    served = serving(9)
    served.lanes = LANES
    assert served.missing_lanes() == 0


def test_a_shop_plugin_gets_one_delivery_after_the_other() -> None:
    """As BTCPay Server sends them: of two that arrive at once a shop may take the older one for the newer."""
    served = Served(endpoint=1, merchant=2)
    served.accept(work(*range(9), form=Format.BTCPAY))
    assert served.missing_lanes() == 1
    served.lanes = 1
    assert served.missing_lanes() == 0


def test_the_failure_that_begins_probation_and_a_410_empty_the_queue() -> None:
    served = serving(3, failures=PROBATION_AFTER - 2)
    served.note(FAILED)
    assert len(served.queue) == 3
    served.note(FAILED)
    assert (list(served.queue), served.held) == ([], set())
    gone = serving(3)
    gone.note(GONE)
    assert (list(gone.queue), gone.failures) == ([], PROBATION_AFTER)


def test_what_was_not_sent_is_neither_a_failure_nor_a_success() -> None:
    served = serving(3, failures=PROBATION_AFTER - 1)
    assert not served.note(AttemptResult(None, error=UNTOLD))
    assert (served.failures, len(served.queue), served.on_probation) == (PROBATION_AFTER - 1, 3, False)


def test_a_success_is_news_only_after_a_failure() -> None:
    served = serving(1)
    assert served.note(TAKEN) is False
    served.note(FAILED)
    assert served.note(TAKEN) is True
    assert served.failures == 0


def test_the_health_in_the_database_counts_only_while_nothing_is_unrecorded() -> None:
    served = serving(1, failures=2)
    served.note(FAILED)
    served.accept(work(7, failures=0))
    assert served.failures == 3
    for delivery in (0, 7):
        served.recorded(delivery)
    served.accept(work(8, failures=1))
    assert served.failures == 1


def test_more_is_read_once_half_of_the_room_is_free() -> None:
    assert serving(0).room() == Room(ENDPOINT_ROOM, idle=True)
    half = serving(ENDPOINT_ROOM // 2)
    assert half.room() == Room(ENDPOINT_ROOM - ENDPOINT_ROOM // 2, idle=False)
    full = serving(ENDPOINT_ROOM // 2 + 1)
    assert full.room() is None
    assert full.wants_more


def test_what_was_dropped_is_read_again() -> None:
    served = serving(3)
    wishes = [served.wants_more]
    served.drop_queue()
    wishes.append(served.wants_more)
    assert served.room() == Room(ENDPOINT_ROOM, idle=True)
    # Asked for, and nothing is dropped the second time.
    wishes.append(served.wants_more)
    served.drop_queue()
    wishes.append(served.wants_more)
    assert wishes == [False, True, False, False]


def test_on_probation_nothing_is_read_while_a_probe_is_under_way() -> None:
    served = serving(1, failures=PROBATION_AFTER)
    assert served.room() is None
    served.recorded(0)
    assert served.room() == Room(ENDPOINT_ROOM, idle=True)


def test_a_probe_that_succeeded_still_holds_back_the_others_until_it_is_recorded() -> None:
    served = serving(1, failures=PROBATION_AFTER)
    served.note(TAKEN)
    # The database would give nothing yet, and nobody would look again.
    assert served.room() is None
    assert served.wants_more
    served.recorded(0)
    assert served.room() == Room(ENDPOINT_ROOM, idle=True)


def test_one_success_beside_the_failure_that_begins_probation_does_not_end_it_before_both_are_recorded() -> None:
    served = serving(2, failures=PROBATION_AFTER - 1)
    served.queue.clear()
    served.note(FAILED)
    served.note(TAKEN)
    served.recorded(0)
    assert served.room() is None
    served.recorded(1)
    assert served.room() == Room(ENDPOINT_ROOM, idle=True)


def test_a_merchant_that_fills_its_share_is_named_busy() -> None:
    roster = Roster()
    roster.add(dict.fromkeys(range(Roster.MAX_PER_MERCHANT - 1), 1))
    roster.add({1_000: 2})
    assert roster.busy_merchants() == []
    roster.add({1_001: 1})
    assert roster.busy_merchants() == [1]


def test_an_endpoint_that_is_taken_anew_begins_with_nothing() -> None:
    roster = Roster()
    roster.add({1: 2})
    before = roster.served[1]
    before.accept(work(5, 6))
    roster.add({1: 2})
    assert (list(before.queue), roster.held()) == ([], [])


def test_what_is_in_flight_to_an_endpoint_that_is_disabled_stays_held() -> None:
    roster = Roster()
    roster.add({1: 2})
    roster.served[1].accept(work(5, 6, 7))
    roster.served[1].queue.popleft()
    roster.pause([1])
    assert (list(roster.served[1].queue), roster.held()) == ([], [5])


def test_idle_endpoints_leave_after_a_while_and_at_once_when_the_roster_is_full() -> None:
    roster = Roster()
    roster.add({1: 1, 2: 1})
    roster.served[2].accept(work(5))
    assert roster.pop_idle() == []
    for served in roster.served.values():
        served.used_at -= LINGER_SECONDS
    assert roster.pop_idle() == [1]
    assert roster.held() == [5]
    full = Roster()
    full.add({number: number for number in range(Roster.MAX_ENDPOINTS)})
    assert full.free() == 0
    assert len(full.pop_idle()) == Roster.MAX_ENDPOINTS
