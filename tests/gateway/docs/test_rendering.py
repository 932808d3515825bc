"""Markdown as HTML."""

from gateway.docs.rendering import anchor_of, render


def html(text: str) -> str:
    return render(text, link=lambda target: target).html


def test_text_is_never_html() -> None:
    assert "<script>" not in html("# A <script>\n\n<script>alert(1)</script>")


def test_headings_get_the_anchors_that_code_hosts_give() -> None:
    assert anchor_of("Read & list `GET`", taken=set()) == "read--list-get"
    assert anchor_of("Events", taken={"events"}) == "events-1"
    assert '<h2 id="read--list-get">' in html("## Read & list `GET`")


def test_a_link_without_an_address_becomes_plain_words() -> None:
    found = render("[here](a.py) and [there](b.md)", link=lambda target: "/docs/b/" if target == "b.md" else None)
    assert found.html == '<p>here and <a href="/docs/b/">there</a></p>\n'


def test_the_same_example_in_several_languages_is_one_group() -> None:
    found = html("```sh\nls\n```\n\n```python\nprint(1)\n```\n\nThen\n\n```go\nx\n```")
    assert found.count('class="tabs"') == 1
    assert found.count("data-label") == 2
    assert found.count('class="code"') == 3


def test_code_is_escaped_and_marked() -> None:
    found = html('```python\nprint("<b>")\n```')
    assert "<b>" not in found
    assert '<span class="nb">print</span>' in found


def test_what_is_below_a_heading_is_found_by_the_search() -> None:
    found = render("# A\n\nOne `two`\n\n## B\n\n- three", link=lambda target: target)
    assert [(each.title, each.text) for each in found.headings] == [("A", "One two"), ("B", "three")]
    assert found.lead == "One two"


def test_a_block_that_no_test_runs_says_so_with_its_reason() -> None:
    found = html("```sh not run: it needs <root>\nls\n```")
    assert '<p class="code-note">Not run by our tests: it needs &lt;root&gt;.</p>' in found
    assert "code-note" not in html("```sh\nls\n```")
