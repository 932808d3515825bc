"""Django's WSGI application, with requests that any Content-Type header can come with."""

from typing import Any

import django
from django.core.exceptions import DisallowedHost, TooManyFieldsSent
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.http import QueryDict
from django.http.multipartparser import MultiPartParserError
from django.utils.datastructures import MultiValueDict
from django.utils.functional import cached_property
from django.utils.http import parse_header_parameters

from gateway.server.environ import Environ


class PlainRequest(WSGIRequest):
    """A request in UTF-8, which JSON and forms are. It ignores the header's charset, and parameters that cannot be parsed.

    Django makes a request before the first middleware runs. An error there would be answered without the headers of the API,
    and not be counted.
    """

    def _set_content_type_params(self, meta: Environ) -> None:
        written = meta.get("CONTENT_TYPE", "")
        try:
            media_type, parameters = parse_header_parameters(written)
        # The email package raises these for the parameters of RFC 2231.
        except (LookupError, TypeError, ValueError):
            media_type, parameters = written.partition(";")[0].strip().lower(), {}
            # Django REST framework and Django's parser of forms parse the header again.
            meta["CONTENT_TYPE"] = media_type
        self.content_type, self.content_params = media_type, parameters

    @cached_property
    def GET(self) -> QueryDict:  # type: ignore[override]  # noqa: N802 - Django's name; its stubs do not know its cached_property
        """The query string's parameters. Raises TooManyFieldsSent, once: pages about errors read parameters too."""
        try:
            return super().GET
        except TooManyFieldsSent:
            self.GET = QueryDict()
            raise

    def get_host(self) -> str:
        """Return the host. Raises DisallowedHost; then there are no parameters, because there may be too many for the error's page."""
        try:
            return super().get_host()
        except DisallowedHost:
            self.GET = QueryDict()
            raise

    def parse_file_upload(self, meta: Any, post_data: Any) -> tuple[QueryDict, MultiValueDict[str, Any]]:
        """Parse a form with files. Raises MultiPartParserError, also for a part's header that cannot be parsed."""
        try:
            return super().parse_file_upload(meta, post_data)
        except (LookupError, TypeError) as error:
            raise MultiPartParserError from error


class Handler(WSGIHandler):
    """Answers requests as Django does."""

    request_class = PlainRequest


def django_application() -> Handler:
    """Set up Django, and return its WSGI application."""
    django.setup(set_prefix=False)
    return Handler()
