"""hopefear.lm.estimate: its report, its inputs and what it refuses."""

from __future__ import annotations

import gzip
import io
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from hopefear.base.errors import HopefearError, InputError, OptionError
from hopefear.lm.estimate import estimate

pytestmark = pytest.mark.engine

FALLBACK: dict[str, Any] = {"discount_fallback": True}


def arpa(text: bytes, **options: Any) -> str:
    output = io.BytesIO()
    estimate(io.BytesIO(text), output, **{**FALLBACK, **options})
    return output.getvalue().decode()


def test_a_model_by_hand() -> None:
    """Two sentences, order 2, discounts 0.5, 1, 1.5; every number worked out on paper."""
    # Adjusted counts: unigrams a 1 (<s>), b 2 (a, b), </s> 1 (b); 4 in all, discounted mass
    # 0.5 + 1 + 0.5 = 2, so 2/4 is spread over <unk>, </s>, a, b: 1/8 each.
    # p(a) = 0.5/4 + 1/8, p(b) = 1/4 + 1/8. Bigrams: <s> a 2; a b 2; b b 2, b </s> 2.
    # Order 2 below: each of the four has count 2: discount 1.
    lines = arpa(b"a b b\na b b\n", order=2).split("\n")
    assert lines[:3] == ["\\data\\", "ngram 1=5", "ngram 2=4"]
    values = {
        line.split("\t")[1]: [10 ** float(x) for x in line.split("\t")[::2]]
        for line in lines
        if "\t" in line
    }
    assert list(values) == ["<unk>", "<s>", "</s>", "a", "b", "b </s>", "<s> a", "a b", "b b"]
    near = pytest.approx
    assert values["<unk>"] == near([1 / 8, 1])
    assert values["<s>"] == near([1, 1 / 2])  # (2 - 1) / 2 is kept of "<s> a"
    assert values["a"] == near([1 / 4, 1 / 2])
    assert values["b"] == near([3 / 8, 2 / 4])
    assert values["<s> a"] == near([1 / 2 + 1 / 2 * 1 / 4])
    assert values["b b"] == near([1 / 4 + 1 / 2 * 3 / 8])
    assert values["b </s>"] == near([1 / 4 + 1 / 2 * 1 / 4])


def test_report() -> None:
    report = estimate(io.BytesIO(b"a b\n\nb c b"), io.BytesIO(), order=2, prune=[0, 1], **FALLBACK)
    assert (report.sentences, report.tokens, report.types) == (3, 5, 3)
    first, second = report.orders
    assert (first.order, first.ngrams, first.distinct) == (1, 6, 6)
    # <s> a, a b, b </s> (twice), <s> </s>, <s> b, b c, c b
    assert (second.order, second.ngrams, second.distinct) == (2, 1, 7)
    assert second.discounts == (0.5, 1.0, 1.5)
    assert second.fell_back
    assert report.spilled_bytes == 0
    assert report.seconds >= 0


def test_texts_of_all_kinds_are_one_text(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.txt", tmp_path / "b.gz"
    plain.write_bytes(b"a b c\nb c")  # its last line ends with the file
    packed.write_bytes(gzip.compress(b"c d\n"))
    output = tmp_path / "out.arpa.gz"
    estimate([plain, str(packed), io.BytesIO(b"e\n")], output, **FALLBACK)
    assert gzip.decompress(output.read_bytes()).decode() == arpa(b"a b c\nb c\nc d\ne\n")


def test_nul_cr_and_tab_separate_words() -> None:
    assert arpa(b"a\0q\rc\td\r\n") == arpa(b"a q c d\n")


def test_empty_lines_are_sentences() -> None:
    assert "\n0\t<s>\t" in arpa(b"a\n\n\n", order=2)
    assert "<s> </s>" in arpa(b"a\n\n\n", order=2)


def test_a_line_of_a_million_words() -> None:
    text = b" ".join(b"w%d" % (i * i % 1009) for i in range(1_000_000))
    output = io.BytesIO()
    report = estimate(io.BytesIO(text), output, memory=40 << 20, **FALLBACK)
    assert (report.sentences, report.tokens) == (1, 1_000_000)
    assert report.spilled_bytes > 0
    assert output.getvalue().endswith(b"\n\\end\\\n")


def test_words_across_read_boundaries() -> None:
    """Words longer than what is read at once, and cut anywhere."""

    class Dribble(io.RawIOBase):
        def __init__(self, data: bytes) -> None:
            self.data = io.BytesIO(data)

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            return self.data.readinto(memoryview(buffer)[:3])

    text = b"abcdefg hi\njklmnopq r\n\ns" + b"t" * 50
    output = io.BytesIO()
    estimate(Dribble(text), output, order=2, **FALLBACK)  # type: ignore[arg-type]
    assert output.getvalue().decode() == arpa(text, order=2)
    long = b"x" * 200_000
    assert (b"\t" + long + b"\t").decode() in arpa(b"a " + long + b" b\n")


@pytest.mark.parametrize("symbol", ["<s>", "</s>", "<unk>"])
def test_symbols_in_the_text(symbol: str) -> None:
    text = f"a b\nb {symbol} c\n".encode()
    with pytest.raises(InputError, match=f":2: .*'{symbol}'.*--skip-symbols"):
        arpa(text)
    assert arpa(text, skip_symbols=True) == arpa(b"a b\nb c\n")


@pytest.mark.parametrize("text", [b"", b"\n", b" \0\t\r\n\n"])
def test_a_text_without_words(text: bytes) -> None:
    with pytest.raises(InputError, match="no words in it"):
        arpa(text)


def test_a_text_without_discounts() -> None:
    with pytest.raises(InputError, match=r"order 1: .*--discount-fallback"):
        arpa(b"a b\n", discount_fallback=None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": 0}, "order 0 .*1 to 6"),
        ({"order": 7}, "order 7 .*1 to 6"),
        ({"prune": [1, 0]}, "prune 1 0: .*ascending"),
        ({"prune": [-1]}, "prune -1: .*at least 0"),
        ({"prune": [0, 0, 0, 1]}, "4 thresholds for a model of order 3"),
        ({"memory": (40 << 20) - 1}, "at least 40M"),
        ({"threads": 0}, "threads 0"),
        ({"tmp": "/no/such/place"}, "/no/such/place: no such directory"),
        ({"discount_fallback": [0.0]}, "fallback 0.000000 for count 1"),
        ({"discount_fallback": [1.5]}, "fallback 1.500000 for count 1: .*at most 1"),
        ({"discount_fallback": [0.1, 0.2, 0.3, 0.4]}, "at most three"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_options_out_of_range(options: dict[str, Any], message: str) -> None:
    with pytest.raises((InputError, OptionError), match=message):
        arpa(b"a b c\n", **options)


def test_a_vocabulary_beyond_the_memory() -> None:
    text = b"\n".join(b"word%d" % i for i in range(200_000))
    with pytest.raises(InputError, match=r":\d+: the vocabulary, .*raise --memory"):
        arpa(text, memory=40 << 20)


def test_failed_output_leaves_no_file(tmp_path: Path) -> None:
    output = tmp_path / "out.arpa"
    output.write_text("old")
    with pytest.raises(HopefearError):
        estimate(io.BytesIO(b"a <s>\n"), output)
    assert [path.name for path in tmp_path.iterdir()] == ["out.arpa"]
    assert output.read_text() == "old"


def test_an_unwritable_output_fails_before_the_text_is_read(tmp_path: Path) -> None:
    text = io.BytesIO(b"a\n")
    with pytest.raises(OSError, match="no directory"):
        estimate(text, tmp_path / "none" / "out.arpa", **FALLBACK)
    assert text.tell() == 0


class Endless(io.RawIOBase):
    """A text that never ends."""

    name = "<endless>"

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        buffer[:] = (b"a b c d\n" * (len(buffer) // 8 + 1))[: len(buffer)]
        return len(buffer)


@pytest.fixture
def alarm() -> Iterator[None]:
    """Raises KeyboardInterrupt soon, like Ctrl-C."""

    def handler(signum: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_an_interrupt_ends_it(alarm: None, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        estimate(Endless(), tmp_path / "out.arpa", memory=40 << 20)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_sink_that_fails() -> None:
    class Full(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        estimate(io.BytesIO(b"a b\n"), Full(), **FALLBACK)  # type: ignore[arg-type]


def test_progress_counts_tokens() -> None:
    seen: list[int] = []
    estimate(io.BytesIO(b"a b c\n" * 50_000), io.BytesIO(), progress=seen.append, **FALLBACK)
    assert seen == sorted(seen)
    assert len(seen) > 2
    assert seen[-1] == 150_000
