"""The contract of a tagger, which takes the words of a sentence and returns their parts of speech.

    @register("tagger", "mine")
    class Mine(Tagger):
        def tag(self, words): …

Words are those of the model, after its text pipeline. tests/contract/test_taggers.py checks every
tagger: it returns a tag for each word; tags are not empty and contain no blanks; equal sentences
get equal tags. `UNKNOWN` is the tag of words without a known tag.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import cast

from hopefear.base import registry
from hopefear.base.errors import HopefearError, OptionError, in_line

UNKNOWN = "<unk>"  # as for words without a class in feature templates
_CACHE_SIZE = 50_000  # sentences, about 30 MB; tuning tags the same sentences repeatedly


class Tagger:
    """Base class of taggers; an instance is used by one thread at a time."""

    def __init__(self, language: str, lexicon: Mapping[str, str]) -> None:
        """Takes a language code such as `fr`, `pt-BR`, `zh`, and the model's lexicon.

        The lexicon maps words to tags; it is empty if the model has none.
        """
        self.language, self.lexicon = language, lexicon

    def tag(self, words: Sequence[str]) -> Sequence[str]:
        """Take the words of a sentence and return their tags."""
        raise NotImplementedError

    def versions(self) -> dict[str, str]:
        """Return the versions of packages that affect the result."""
        return {}


def make_tagger(name: str, language: str, lexicon: Mapping[str, str]) -> Tagger:
    """Take a registered name, a language code and a lexicon; return the tagger."""
    try:
        cls = cast(type[Tagger], registry.get("tagger", name))
    except OptionError as error:
        raise OptionError(f"{error}; load your own tagger with --plugin FILE.py") from None
    return cls(language, lexicon)


class SentenceTags:
    """The tagger interface of decoders: calls take a sentence's words and return checked tags.

    Tags are cached. Threads can share an instance.
    """

    def __init__(self, tagger: Tagger, name: str = "") -> None:
        self._tagger, self._name = tagger, name or type(tagger).__name__
        self._lock = threading.Lock()
        self._cached_tags = lru_cache(_CACHE_SIZE)(self._checked_tags)

    def __call__(self, words: tuple[str, ...]) -> tuple[str, ...]:
        with self._lock:
            return self._cached_tags(words)

    def _checked_tags(self, words: tuple[str, ...]) -> tuple[str, ...]:
        # A faulty tagger ends the whole translation, as it would affect every line.
        sentence = repr(" ".join(words)[:60])
        try:
            tags = tuple(self._tagger.tag(words))
        except HopefearError:
            raise
        except Exception as error:
            raise OptionError(
                f"tagger {self._name!r} failed on {sentence}: {type(error).__name__}: "
                f"{in_line(error)}; correct the tagger"
            ) from error
        if len(tags) != len(words):
            raise OptionError(
                f"tagger {self._name!r} gave {len(tags)} tags for the {len(words)} words "
                f"{sentence}, expected one for each; correct the tagger"
            )
        for word, tag in zip(words, tags, strict=True):
            if not isinstance(tag, str) or tag.split() != [tag]:
                raise OptionError(
                    f"tagger {self._name!r} gave {word[:40]!r} the tag {repr(tag)[:40]}, expected "
                    "a non-empty string without blanks; correct the tagger"
                )
        return tuple(map(sys.intern, map(str, tags)))
