"""Words put together again."""

from __future__ import annotations

import pytest

from hopefear.base.errors import InputError
from hopefear.text.detokenize import Detokenizer
from hopefear.text.spacing import Spacing, SpacingCounter
from hopefear.text.tokenizers import make_tokenizer

ROUND_TRIPS = [
    ("en", "It's 3:30, isn't it?"),
    ("en", "He said: \"I can't (won't) go!\""),
    ("en", "“Behold,” he said, ‘I’m the LORD’s servant’ to the disciples’ friends."),
    ("en", "The boys' house; a sign that says 'free dinner' is up."),
    ("en", "Jackson's 'Thriller' video costs $5.50 and/or 20%."),
    ("en", "Player #8 of 24/7 wrote to me@example.org..."),
    ("en", "See (https://example.org/a?b=c&d=%20e#f), or www.example.org."),
    ("en", "Mail john.doe+x@mail.example.co.uk! #now @ann knows C# and F#."),
    ("en", "It costs €30, $5 or £1,000.50."),
    ("de", "Das kostet 30 € oder 40 € für zwei."),
    ("fr", "L'homme dit : « Où est l’œuvre d'art ? »"),
    ("it", "C'è l'uomo dell'arte."),
    ("de", "Er sagte: „So ist es“, und bei McDonald's im „Hello Kitty“-Hemd."),
    ("de", "Er sagte: »So ist es«, und ging."),
    ("cs", "Dům s číslem 5."),
    ("es", "¿Qué? ¡No (nunca)!"),
    ("fi", "Hän sanoi: ”niin” ja meni."),
    ("ar", "قَالَ: «نَعَمْ»، ثُمَّ ذَهَبَ؟"),
    ("hi", "यह ठीक है।"),
]


@pytest.mark.parametrize(("language", "raw"), ROUND_TRIPS)
def test_round_trip(language: str, raw: str) -> None:
    tokenizer = make_tokenizer("moses", language)
    words = tokenizer.tokenize(raw)
    assert words != [raw]
    assert tokenizer.detokenize(words) == raw


def test_czech_words_that_make_sacremoses_fail() -> None:
    assert Detokenizer("cs")(["e'", "-", "mail"]) == "e' - mail"


def test_spacing_is_learned() -> None:
    words = ["Où", "?", "Là", ":", "oui", "—", "non"]
    french = Detokenizer("fr")
    assert french(words) == "Où ? Là : oui — non"
    counter = SpacingCounter()
    for line in counter.watch(["Où? Là: a—b à 10:30"] * 5):
        assert line
    spacing = counter.result()
    assert spacing.to_mapping() == {"?": "after", ":": "after", "—": "none"}
    assert french(words, spacing) == "Où? Là: oui—non"
    assert Spacing.from_mapping(spacing.to_mapping()) == spacing


def test_little_evidence_is_none() -> None:
    counter = SpacingCounter()
    for _ in range(4):
        counter.add("quoi ?")
    assert counter.result().habits == {}
    counter.add("quoi ?")
    assert counter.result().to_mapping() == {"?": "both"}


@pytest.mark.parametrize("mapping", [{"?": "left"}, {"??": "none"}, {"a": "none"}])
def test_a_foreign_spacing_is_refused(mapping: dict[str, str]) -> None:
    with pytest.raises(InputError, match=r"model\.toml: "):
        Spacing.from_mapping(mapping, "model.toml")


def test_many_quotes_take_linear_time() -> None:
    assert len(Detokenizer("de")(['"', "»", "«"] * 30_000)) > 90_000
