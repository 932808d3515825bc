"""Finds npm's packages as Node.js does for node.mjs: in a folder node_modules beside this package or above."""

from pathlib import Path


def package_folder(name: str) -> Path | None:
    """Return the folder of an npm package, None if it is not installed."""
    above = (folder / "node_modules" / name for folder in Path(__file__).resolve().parents)
    return next((folder for folder in above if folder.is_dir()), None)
