"""Static files with a hash in their names, so that browsers may cache them for ever."""

from pathlib import PurePosixPath
from typing import Final

from django.core.files.base import ContentFile, File
from whitenoise.storage import CompressedManifestStaticFilesStorage

from gateway.core.web.compact import compact_css, compact_js

_COMPACT: Final = {".css": compact_css, ".js": compact_js}
# Third-party scripts, which may have strings over several lines.
_OTHERS: Final = ("admin/", "rest_framework/")


class HashedStaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Hashes names in ES modules' imports as well; otherwise a page would load each module twice."""

    support_js_module_import_aggregation = True

    def _save(self, name: str, content: "File[bytes]") -> str:
        compact = _COMPACT.get(PurePosixPath(name).suffix)
        if compact and not name.startswith(_OTHERS):
            text = b"".join(content.chunks()).decode()
            content = ContentFile(compact(text).encode())
        return str(super()._save(name, content))
