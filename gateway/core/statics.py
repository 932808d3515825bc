"""Static files under names that carry their hash, so that browsers may keep them for ever."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Hashes the files that ES modules import, too; without it a page would load each module twice."""

    support_js_module_import_aggregation = True
