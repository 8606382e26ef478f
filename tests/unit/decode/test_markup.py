"""Markup in lines of input."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from hopefear.base.errors import InputError
from hopefear.decode.contract import ForcedOption
from hopefear.decode.markup import read_options, read_segment, unescape


def test_options_with_probabilities() -> None:
    line = 'das <n translation="house||a home" prob="0.8||0.2">haus am see</n> ist '
    line += '<np translation="small">klein</np>'
    sentence = read_options(line, "x:1")
    assert sentence.words == ("das", "haus", "am", "see", "ist", "klein")
    assert sentence.exclusive
    assert sentence.options == (
        ForcedOption(1, 4, ("house",), math.log(0.8)),
        ForcedOption(1, 4, ("a", "home"), math.log(0.2)),
        ForcedOption(5, 6, ("small",), 0.0),
    )


def test_escapes_and_quotes() -> None:
    line = """a &lt; b &amp;amp; <n translation='say "&gt;" &#65;'>c</n>"""
    sentence = read_options(line, "x:1", exclusive=False)
    assert sentence.words == ("a", "<", "b", "&amp;", "c")
    assert sentence.options[0].target == ("say", '">"', "A")
    assert not sentence.exclusive
    kept = read_options("it &apos;s <n translation='&quot;'>c</n>", "x:1", escaped=True)
    assert kept.words == ("it", "&apos;s", "c")
    assert kept.options[0].target == ("&quot;",)
    assert unescape("&nbsp; &copy") == "&nbsp; &copy"  # only XML escapes


def test_words_by_the_text_steps() -> None:
    sentence = read_options(
        'The house, <n translation="a, b">c, d</n>',
        "x:1",
        source_words=lambda text: text.replace(",", " ,").split(),
        target_words=lambda text: text.upper().split(),
    )
    assert sentence.words == ("The", "house", ",", "c", ",", "d")
    assert sentence.options == (ForcedOption(3, 6, ("A,", "B"), 0.0),)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a < b", "write &lt;"),
        ("<n translation='x'>a", "is not closed"),
        ("a</n>", "closes nothing"),
        ("<n translation='x'><m translation='y'>a</m></n>", "nested"),
        ("<n>a</n>", "has no translation"),
        ("<n translation='x'> </n>", "no words"),
        ("<n translation='x||y' prob='1'>a</n>", "2 translations and 1 probabilities"),
        ("<n translation='x' prob='2'>a</n>", "prob is '2'"),
        ("<n translation='x' prob='nan'>a</n>", "prob is 'nan'"),
        ("<n translation='x' colour='y'>a</n>", "has colour="),
        ("<n translation='x' translation='y'>a</n>", "given twice"),
        ("a <wall/> b", "<wall> is not known"),
        ("<n translation=x>a</n>", "expected NAME="),
        pytest.param(f'<n translation="x"{"p" * 200_000}>a</n>', "expected NAME=", id="long name"),
        ("<n " + "a " * 10_000, "is not markup"),  # without exponential time
    ],
)
def test_malformed_markup(line: str, message: str) -> None:
    with pytest.raises(InputError, match="x:3") as caught:
        read_options(line, "x:3")
    assert message in str(caught.value)


def test_segment(tmp_path: Path) -> None:
    (tmp_path / "g.gz").touch()
    line = '<seg grammar="g.gz" id="7"> das haus </seg> ||| the house'
    sentence, target = read_segment(line, "x:1", [Path("/nowhere"), tmp_path])
    assert (sentence.words, sentence.id) == (("das", "haus"), "7")
    assert sentence.grammar == tmp_path / "g.gz"
    assert target == ("the", "house")
    assert read_segment("das &lt; haus", "x:1").sentence.words == ("das", "&lt;", "haus")
    assert read_segment("das |||", "x:1").target == ()
    assert read_segment("", "x:1").sentence.words == ()


def test_grammars_are_in_the_folders(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "g").touch()
    (inside / "link").symlink_to(outside)

    def read(name: str, *folders: Path) -> Path | None:
        line = f'<seg grammar="{name}"> a </seg>'
        return read_segment(line, "x:1", folders).sentence.grammar

    assert read("./x/../g", inside) == inside / "g"
    assert read(str(inside / "g"), inside) == inside / "g"
    assert read("link/g", inside) == inside / "link" / "g"  # a link is its owner's decision
    assert read("link/../g", inside) == inside / "g"  # not the folder of the link's target
    assert read("../outside/g", inside, outside) == outside / "g"
    assert read(str(outside / "g"), inside, Path("/")) == outside / "g"
    for name in ("../outside/g", str(outside / "g"), "../none", "/dev/null"):
        with pytest.raises(InputError, match=r"x:1: the grammar '.*' is outside of .*--grammars"):
            read(name, inside)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("<seg id='1'> a", "not closed"),
        ('<seg grammar="no.gz"> a </seg>', "no grammar 'no.gz'"),
        ("<seg id=1> a </seg>", "expected"),
        ("<seg " + "a " * 10_000, "expected"),  # without exponential time
    ],
)
def test_malformed_segments(line: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_segment(line, "x:3", [Path("/nowhere")])
    assert message in str(caught.value)
    assert str(caught.value).startswith("x:3")
