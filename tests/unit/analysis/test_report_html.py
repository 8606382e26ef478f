"""User text is escaped in HTML."""

from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from hopefear.analysis.report.html import Markup, element, escape, together


class Reader(HTMLParser):
    """Parses a page and collects its tags and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)))
def test_text_comes_back_and_adds_no_tag(text: str) -> None:
    page = Reader(element("p", text, title=text))
    assert page.tags == [("p", {"title": text})]
    assert page.text == text


@given(st.text(st.characters()))
def test_any_characters_can_be_written(text: str) -> None:
    written = element("p", text)
    written.encode()  # no surrogates
    assert [tag for tag, _ in Reader(written).tags] == ["p"]
    assert "\0" not in written


def test_attributes() -> None:
    cell = element(
        "td", 3, None, ["a", Markup("<b>")], class_="x", data_n=1.5, hidden=True, id=None
    )
    assert cell == '<td class="x" data-n="1.5" hidden>3a<b></td>'
    assert element("br") == "<br>"


def test_markup_is_not_escaped_again() -> None:
    assert escape(escape("<")) == "&lt;"
    assert together(["<", Markup("<")]) == "&lt;<"
