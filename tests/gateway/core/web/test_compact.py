"""What makes pages and files smaller on the wire, and must change nothing a reader sees."""

import gzip
import re

import brotli  # type: ignore[import-untyped]
import pytest
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from gateway.core.web.compact import compact_css, compact_js, compact_page
from tests.cases import case
from tests.tree import relative, repository_files

PAGE = "<p>\n    one\n\n    two\n</p>\n" * 20
# Buyers' pages, and what they share; the page that checks a receipt is sent as it is, for it shows keys and claims.
COMPACT_TEMPLATES = [
    path
    for path in repository_files(".html")
    if path.parent.name in {"templates", "parts", "gateway", "checkouts", "links"}
    and "dashboard" not in path.parts
    and path.name != "verify.html"
]
SCRIPTS = {path.name: path for path in repository_files(".js") if "js" in path.parts}
STYLES = {path.name: path for path in repository_files(".css")}


def answer(accepted: str, body: str = PAGE, kind: str = "text/html") -> HttpResponse:
    @compact_page
    def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse(body, content_type=f"{kind}; charset=utf-8")

    return view(RequestFactory().get("/", headers={"Accept-Encoding": accepted}))


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("gzip, deflate, br, zstd", "br"),
        ("br;q=1.0, gzip;q=0.8", "br"),
        ("gzip, deflate", "gzip"),
        ("gzip, br;q=0", "gzip"),
        ("br;q=0.0,gzip", "gzip"),
        ("brotli, gzip", "gzip"),
        ("", None),
        ("identity", None),
    ],
)
def test_a_page_travels_by_what_the_browser_reads(accepted: str, encoding: str | None) -> None:
    response = answer(accepted)
    assert response.headers.get("Content-Encoding") == encoding
    assert response["Vary"] == "Accept-Encoding"
    unpack = {"br": brotli.decompress, "gzip": gzip.decompress, None: bytes}[encoding]
    assert unpack(response.content).decode() == re.sub(r"\n +", "\n", PAGE)


def test_empty_lines_stay_for_they_part_a_merchants_paragraphs() -> None:
    assert b"one\n\ntwo" in answer("").content


def test_empty_lines_between_tags_go() -> None:
    body = PAGE + "<ul>\n\n  \n    <li>one\n\n</li>\n\n</ul>\n\n<b>two</b> \n\n<i>"
    expected = b"<ul>\n<li>one\n\n</li>\n</ul>\n<b>two</b> \n\n<i>"
    assert answer("", body=body).content.endswith(expected)


def test_no_page_that_loses_lines_has_an_element_that_shows_them() -> None:
    assert len(COMPACT_TEMPLATES) > 20
    assert [relative(path) for path in COMPACT_TEMPLATES if re.search(r"<(pre|textarea)\b", path.read_text())] == []


def test_what_is_no_page_keeps_its_spaces() -> None:
    assert answer("", kind="application/json").content.decode() == PAGE


def test_a_short_answer_stays_as_it_is() -> None:
    response = answer("br", body="<p>\n  short")
    assert response.content == b"<p>\n  short"
    assert "Content-Encoding" not in response


def test_styles_lose_comments_and_spaces_only() -> None:
    text = """
    /* Why;
       how. */
    .a > .b::before, .c:hover {
      margin: calc(100% - 2px) 0;
      grid-area: 1 / 2;
    }
    @media (min-width: 2px) and (print) {
      [dir="rtl"] .d { content: ""; }
    }
    """
    assert compact_css(text) == (
        ".a > .b::before,.c:hover{margin:calc(100% - 2px) 0;grid-area:1 / 2}"
        '@media (min-width:2px) and (print){[dir="rtl"] .d{content:""}}'
    )


def test_scripts_lose_indentation_and_lines_of_comment_only() -> None:
    text = '// Why.\nexport const a = "x  //y";\n\n  b(); // here\n    // How.\n  c();\n'
    assert compact_js(text) == 'export const a = "x  //y";\nb(); // here\nc();'


def test_no_text_in_a_script_goes_over_several_lines() -> None:
    for name, path in SCRIPTS.items():
        with case(name):
            text = path.read_text()
            assert [line for line in text.splitlines() if line.count("`") % 2] == []
            assert not re.search(r"(?<!/)/\*", text)


def test_no_text_in_a_stylesheet_has_what_is_taken_out() -> None:
    for name, path in STYLES.items():
        with case(name):
            texts = re.findall(r'"([^"\n]*)"', path.read_text())
            assert [text for text in texts if re.search(r"[{};,]|:\s|\s\s|/\*", text)] == []
