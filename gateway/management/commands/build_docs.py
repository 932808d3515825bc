"""`manage.py build_docs FOLDER`: write the documentation as static files, which any web server can serve."""

import re
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles import finders
from django.core.management.base import BaseCommand, CommandError
from django.http import HttpResponse
from django.test import RequestFactory
from django.urls import resolve

from gateway.docs.pages import pages
from gateway.docs.views import IMAGES
from gateway.pages.api_document import document

_STATIC = re.compile(r"""(?:/static/|\.\./)([\w./-]+\.(?:css|m?js|woff2|svg))""")


class Command(BaseCommand):
    """Writes each page, its Markdown, the explorer, the search index, the feed, llms.txt and the static files that they name."""

    help = "Write the documentation as static files."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the folder."""
        parser.add_argument("folder", type=Path)

    def handle(self, *_args: Any, folder: Path, **_options: Any) -> None:
        """Write everything below the folder. Raises CommandError if there are other files in it."""
        if folder.exists() and not (folder / "docs").is_dir() and any(folder.iterdir()):
            raise CommandError(f"{folder} has other files in it. Name an empty folder.")
        addresses = ["/docs/", "/docs/index.md", "/docs/search.json"]
        addresses += ["/docs/changelog.xml", "/docs/api/explorer/"]
        addresses += ["/llms.txt", "/llms-full.txt"]
        for page in pages().values():
            addresses += [page.url, page.markdown_url]
        assets: set[str] = set()
        for address in addresses:
            body = _body(address)
            assets |= set(_STATIC.findall(body)) if address.endswith("/") else set()
            name = address + "index.html" if address.endswith("/") else address
            _write(folder / name.lstrip("/"), body.encode())
        for picture in IMAGES.glob("*.png"):
            _write(folder / "docs/images" / picture.name, picture.read_bytes())
        _write(folder / "api/v1/openapi.json", document())
        _copy_assets(folder / "static", assets)
        self.stdout.write(f"{len(pages()) + 1} pages in {folder}")


def _body(address: str) -> str:
    match = resolve(address)
    request = RequestFactory(SERVER_NAME=settings.BASE_URL.split("/")[2]).get(address)
    answer: HttpResponse = match.func(request, **match.kwargs)
    return answer.content.decode()


def _copy_assets(folder: Path, names: set[str]) -> None:
    """Copy static files, and those that style sheets among them name."""
    left, done = set(names), set[str]()
    while left:
        name = left.pop()
        done.add(name)
        source = finders.find(name)
        if source is None:
            raise CommandError(f"There is no static file {name}.")
        content = Path(source).read_bytes()
        _write(folder / name, content)
        if name.endswith(".css"):
            left |= set(_STATIC.findall(content.decode())) - done


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
