"""A small model, and the back-off rule written out in Python to compare with."""

from __future__ import annotations

import struct
from pathlib import Path

SMALL = """\\data\\
ngram 1=6
ngram 2=5
ngram 3=3

\\1-grams:
-2\t<unk>\t0
-99\t<s>\t-0.5
-0.9\t</s>
-0.6\ta\t-0.3
-0.7\tb\t-0.4
-1.2\tc\t-0.25

\\2-grams:
-0.3\t<s> a\t-0.1
-0.2\ta b\t-0.2
-0.45\tb a\t-0.15
-0.35\tc c
-0.8\tb b\t-0.01

\\3-grams:
-0.05\t<s> a b
-0.15\tb a b
-0.07\ta b b

\\end\\
"""

Ngrams = dict[tuple[str, ...], tuple[float, float]]


def write_arpa(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def parse_arpa(text: str) -> Ngrams:
    """n-gram -> (log10 p, log10 back-off)."""
    ngrams: Ngrams = {}
    order = 0
    for line in text.splitlines():
        if line.endswith("-grams:"):
            order = int(line[1:-7])
        elif order and line and not line.startswith("\\"):
            fields = line.split()
            backoff = float(fields[order + 1]) if len(fields) > order + 1 else 0.0
            ngrams[tuple(fields[1 : order + 1])] = (float(fields[0]), backoff)
    return ngrams


def format_arpa(ngrams: Ngrams) -> str:
    """The ARPA file of some n-grams, in the order given."""
    order = max(map(len, ngrams))
    by_order = [[g for g in ngrams if len(g) == n] for n in range(1, order + 1)]
    lines = ["\\data\\"]
    lines += [f"ngram {n}={len(group)}" for n, group in enumerate(by_order, 1)]
    for n, group in enumerate(by_order, 1):
        lines += ["", f"\\{n}-grams:"]
        for ngram in group:
            log10, backoff = ngrams[ngram]
            tail = f"\t{backoff!r}" if backoff else ""
            lines.append(f"{log10!r}\t{' '.join(ngram)}{tail}")
    return "\n".join([*lines, "", "\\end\\", ""])


class BackoffModel:
    """p(w | h) by definition: the longest n-gram there is, and the back-offs of longer contexts."""

    def __init__(self, ngrams: Ngrams, order: int | None = None) -> None:
        self.ngrams = dict(ngrams)
        self.ngrams.setdefault(("<unk>",), (-100.0, 0.0))
        self.order = order or max(map(len, ngrams))
        self.words = [g[0] for g in ngrams if len(g) == 1 and not g[0].startswith("<")]

    def known(self, word: str) -> str:
        return word if (word,) in self.ngrams else "<unk>"

    def word(self, history: list[str], word: str) -> tuple[float, int]:
        """log10 p and the length of the n-gram found."""
        total = 0.0
        for start in range(max(0, len(history) - self.order + 1), len(history) + 1):
            context = tuple(history[start:])
            if (*context, word) in self.ngrams:
                return total + self.ngrams[(*context, word)][0], len(context) + 1
            if context in self.ngrams:
                total += self.ngrams[context][1]
        raise AssertionError("unigrams are never missing")

    def full_scores(
        self, words: list[str], bos: bool = True, eos: bool = True
    ) -> list[tuple[float, int, bool]]:
        history = ["<s>"] if bos else []
        result = []
        for word in [*words, "</s>"] if eos else words:
            known = self.known(word)
            log10, length = self.word(history, known)
            result.append((log10, length, known == "<unk>"))
            history.append(known)
        return result


def sections(content: bytes) -> dict[str, tuple[int, int]]:
    """Name -> offset and size of the sections of a compiled file."""
    (count,) = struct.unpack_from("<I", content, 20)
    entries = (struct.unpack_from("<16sQQ", content, 64 + 48 * i) for i in range(count))
    return {name.rstrip(b"\0").decode(): (offset, size) for name, offset, size in entries}
