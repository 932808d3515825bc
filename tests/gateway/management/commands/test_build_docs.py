"""The documentation as static files."""

import re
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from gateway.docs.pages import pages


@pytest.mark.django_db
def test_the_files_are_what_the_product_serves(tmp_path: Path) -> None:
    call_command("build_docs", str(tmp_path))
    for page in pages().values():
        served = Client().get(page.url).content
        assert (tmp_path / page.url[1:] / "index.html").read_bytes() == served
        assert (tmp_path / page.markdown_url[1:]).read_text() == page.markdown()


def test_everything_that_a_page_asks_for_is_there(tmp_path: Path) -> None:
    call_command("build_docs", str(tmp_path))
    for file in [*tmp_path.rglob("*.html"), *tmp_path.rglob("*.css")]:
        for name in re.findall(r'(?:href="|src="|url\(")([^"#]+)', file.read_text()):
            if ":" in name or name == "/":
                continue
            path = tmp_path / name[1:] if name.startswith("/") else file.parent / name
            assert (path / "index.html" if name.endswith("/") else path).exists(), name


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("x")
    with pytest.raises(CommandError, match="other files"):
        call_command("build_docs", str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
