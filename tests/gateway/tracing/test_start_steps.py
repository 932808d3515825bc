"""Steps of one subject meet in one trace, whichever process writes them."""

from collections.abc import Iterator
from datetime import timedelta
from hashlib import sha256

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, ParentBased

from gateway.core.tracing import mark, record_with, step
from gateway.tracing.start import PaymentSampler, PaymentSteps, StepIds, first_step_of
from tests.factories import NOON
from tests.tree import ROOT

SUBJECT = "chk_live_1"


class Process:
    """What one process writes."""

    def __init__(self, sampler: PaymentSampler | None = None) -> None:
        self.provider = TracerProvider(id_generator=StepIds(), sampler=sampler or PaymentSampler(ALWAYS_ON))
        self._kept = InMemorySpanExporter()
        self.provider.add_span_processor(SimpleSpanProcessor(self._kept))
        self.enter()

    def enter(self) -> None:
        """Let steps be written here."""
        record_with(PaymentSteps(self.provider).step)

    @property
    def spans(self) -> list[ReadableSpan]:
        """The spans that ended, in this order."""
        return list(self._kept.get_finished_spans())


@pytest.fixture(autouse=True)
def _stop() -> Iterator[None]:
    yield
    record_with(None)


def test_steps_of_two_processes_are_one_trace_with_one_root() -> None:
    web = Process()
    mark("checkout created", SUBJECT, began=NOON, is_first=True)
    worker = Process()
    mark("payment credited", SUBJECT, began=NOON)
    [created], [credited] = web.spans, worker.spans
    assert created.parent is None
    assert credited.parent is not None
    assert credited.parent.span_id == created.context.span_id
    assert credited.context.trace_id == created.context.trace_id
    assert credited.context.span_id != created.context.span_id
    mark("payment credited", "chk_live_2", began=NOON)
    assert worker.spans[1].context.trace_id != created.context.trace_id


def test_a_step_links_to_what_the_process_does_and_to_what_led_to_it() -> None:
    worker = Process()
    tracer = worker.provider.get_tracer("test")
    with tracer.start_as_current_span("task"):
        mark("payment credited", SUBJECT, began=NOON, after="transfer 7")
    credited, task = worker.spans
    assert [link.context.trace_id for link in credited.links] == [
        task.context.trace_id,
        first_step_of("transfer 7").trace_id,
    ]
    assert [link.context.trace_id for link in task.links] == [credited.context.trace_id]


def test_a_step_is_the_parent_of_what_happens_during_it() -> None:
    sender = Process()
    with step("webhook sent", SUBJECT):
        sender.provider.get_tracer("test").start_span("POST").end()
    post, sent = sender.spans
    assert post.parent is not None
    assert post.parent.span_id == sent.context.span_id


def test_a_step_begins_when_it_is_told_to() -> None:
    web = Process()
    mark("checkout created", SUBJECT, began=NOON - timedelta(microseconds=1))
    assert web.spans[0].start_time == int(NOON.timestamp()) * 10**9 - 1_000


def test_payments_are_kept_whole_where_other_traces_are_not_sampled() -> None:
    web = Process(PaymentSampler(ParentBased(ALWAYS_OFF)))
    with web.provider.get_tracer("test").start_as_current_span("request"):
        mark("checkout created", SUBJECT, began=NOON, is_first=True)
        mark("payment credited", SUBJECT, began=NOON)
    assert [span.name for span in web.spans] == ["checkout created", "payment credited"]


def test_ids_do_not_hold_the_subject() -> None:
    first = first_step_of(SUBJECT)
    assert SUBJECT.encode().hex() not in f"{first.trace_id:032x}{first.span_id:016x}"
    assert first == first_step_of(SUBJECT)


def test_nothing_is_written_until_a_recorder_is_set() -> None:
    web = Process()
    record_with(None)
    mark("checkout created", SUBJECT, began=NOON, is_first=True)
    with step("webhook sent", SUBJECT):
        pass
    assert web.spans == []


def test_the_guide_says_how_an_id_is_made() -> None:
    digest = sha256(f"florin {SUBJECT}".encode()).hexdigest()
    assert f"{first_step_of(SUBJECT).trace_id:032x}" == digest[:32]
    guide = (ROOT / "docs" / "guide" / "operations.md").read_text()
    assert """printf 'florin %s' "$CHECKOUT_ID" | sha256sum | cut -c 1-32""" in guide
