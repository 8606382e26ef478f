"""The contract of a tagger: the words of a sentence in, their parts of speech out.

    @register("tagger", "mine")
    class Mine(Tagger):
        def tag(self, words): …

Words are those of the model: tokenised and cased by its text steps, or as they came. Promises that
tests/contract/test_taggers.py holds every one to: a tag for each word; no tag is empty or has a
blank in it; equal sentences have equal tags. `UNKNOWN` is the tag of a word that has none.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import cast

from hopefear.base import registry
from hopefear.base.errors import HopefearError, OptionError, in_line

UNKNOWN = "<unk>"  # as templates call what is in no class
_REMEMBERED = 50_000  # sentences; tuning asks for the same ones again and again. About 30 MB.


class Tagger:
    """Base of all taggers. One thread at a time uses it."""

    def __init__(self, language: str, lexicon: Mapping[str, str]) -> None:
        """`language` is a code such as `fr`, `pt-BR`, `zh`; `lexicon`: tags of words that the model
        has from a file, perhaps none.
        """
        self.language, self.lexicon = language, lexicon

    def tag(self, words: Sequence[str]) -> Sequence[str]:
        """The tags of a sentence's words."""
        raise NotImplementedError

    def versions(self) -> dict[str, str]:
        """The packages whose version may change the result."""
        return {}


def make_tagger(name: str, language: str, lexicon: Mapping[str, str]) -> Tagger:
    """The tagger of that name, ready to use."""
    try:
        cls = cast(type[Tagger], registry.get("tagger", name))
    except OptionError as error:
        raise OptionError(f"{error}; one of your own needs --plugin FILE.py") from None
    return cls(language, lexicon)


class SentenceTags:
    """What decoders ask for tags: checks what a tagger gives, and remembers it.

    May be shared by threads.
    """

    def __init__(self, tagger: Tagger, name: str = "") -> None:
        self._tagger, self._name = tagger, name or type(tagger).__name__
        self._lock = threading.Lock()
        self._known = lru_cache(_REMEMBERED)(self._ask)

    def __call__(self, words: tuple[str, ...]) -> tuple[str, ...]:
        with self._lock:
            return self._known(words)

    def _ask(self, words: tuple[str, ...]) -> tuple[str, ...]:
        # Faults of a tagger end a translation, unlike those of a line: no line would be better.
        sentence = repr(" ".join(words)[:60])
        try:
            tags = tuple(self._tagger.tag(words))
        except HopefearError:
            raise
        except Exception as error:
            raise OptionError(
                f"tagger {self._name!r} failed on {sentence}: {type(error).__name__}: "
                f"{in_line(error)}; mend the tagger"
            ) from error
        if len(tags) != len(words):
            raise OptionError(
                f"tagger {self._name!r} gave {len(tags)} tags for the {len(words)} words "
                f"{sentence}, expected one for each; mend the tagger"
            )
        for word, tag in zip(words, tags, strict=True):
            if not isinstance(tag, str) or tag.split() != [tag]:
                raise OptionError(
                    f"tagger {self._name!r} gave {word[:40]!r} the tag {repr(tag)[:40]}, expected "
                    "a text without blanks, which is not empty; mend the tagger"
                )
        return tuple(map(sys.intern, map(str, tags)))
