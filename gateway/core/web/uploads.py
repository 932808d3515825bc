"""Limits uploads: refuses a request as soon as it exceeds what any page accepts."""

from typing import Any, Final

from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadhandler import MemoryFileUploadHandler

MOST_BYTES: Final = 4 * 1024 * 1024
"""Twice the largest file that a page accepts, so that the page can explain that a slightly larger file is too large."""


class CappedUploadHandler(MemoryFileUploadHandler):
    """Keeps uploads in memory, at most `MOST_BYTES` of them, so that no client can fill a disk."""

    def handle_raw_input(self, *args: Any, **kwargs: Any) -> None:
        """Accept every upload, regardless of its Content-Length."""
        self.activated = True
        self._received = 0

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes | None:
        """Keep a chunk. Raises RequestDataTooBig above the limit."""
        self._received += len(raw_data)
        if self._received > MOST_BYTES:
            raise RequestDataTooBig
        super().receive_data_chunk(raw_data, start)
        return None
