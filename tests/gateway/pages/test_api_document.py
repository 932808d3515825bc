"""The OpenAPI document costs a process one build, whoever asks for it and however often."""

from collections.abc import Iterator

import pytest
from drf_spectacular.generators import SchemaGenerator

from gateway.pages import api_document
from tests.concurrency.races import crew
from tests.contract.client import ApiClient
from tests.contract.provoking import count_requests

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("local_nodes")]


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """One entry for each time the document was built, in a process that has not built it yet."""
    made: list[str] = []
    build = SchemaGenerator.get_schema

    def noted(self: SchemaGenerator, *args: object, **kwargs: object) -> object:
        made.append("built")
        return build(self, *args, **kwargs)

    monkeypatch.setattr(SchemaGenerator, "get_schema", noted)
    api_document.document.cache_clear()
    yield made
    api_document.document.cache_clear()


@pytest.mark.concurrency
@pytest.mark.django_db(transaction=True)
def test_the_document_is_built_once_however_many_ask_at_once(builds: list[str]) -> None:
    with crew(8) as threads:
        answers = threads.together(*[lambda: ApiClient().get("/openapi.json") for _ in range(8)])
    assert [answer.status for answer in answers] == [200] * 8
    assert ApiClient().get("/openapi.json").body == answers[0].body
    assert builds == ["built"]


@pytest.mark.usefixtures("still_clock")
def test_a_request_beyond_the_limit_builds_nothing(builds: list[str]) -> None:
    stranger = ApiClient()
    stranger.get("/openapi.json")
    count_requests(59)
    api_document.document.cache_clear()
    builds.clear()
    assert stranger.get("/openapi.json").status == 429
    assert builds == []
