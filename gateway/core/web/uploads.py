"""Files that people send. A request that carries more than any page takes is refused as soon as that is known."""

from typing import Any, Final

from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadhandler import MemoryFileUploadHandler

MOST_BYTES: Final = 4 * 1024 * 1024
"""Twice the largest file that a page takes, so that the page itself can say in words what is too large."""


class CappedUploadHandler(MemoryFileUploadHandler):
    """Keeps files in memory, and at most `MOST_BYTES` of them: nobody fills a disk, logged in or not."""

    def handle_raw_input(self, *args: Any, **kwargs: Any) -> None:
        """Take every file, whatever length the request says it has."""
        self.activated = True
        self._received = 0

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes | None:
        """Keep a piece. Raises RequestDataTooBig for the one that is too many."""
        self._received += len(raw_data)
        if self._received > MOST_BYTES:
            raise RequestDataTooBig
        super().receive_data_chunk(raw_data, start)
        return None
