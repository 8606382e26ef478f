"""A compiled model that is damaged is refused; one that is forged gives wrong answers, no crash."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np
import pytest
from lm_arpa import sections

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fuzz"))

from fuzz_mutate import resealed

from hopefear.base.errors import InputError
from hopefear.lm import LanguageModel

pytestmark = pytest.mark.engine
WORDS = 20_000
SAMPLE = 4 << 10  # what stays as it is at both ends of a section


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    arpa, path = folder / "lm.arpa", folder / "lm.bin"
    with arpa.open("w") as file:
        counts = (WORDS + 3, WORDS - 1, WORDS - 2)
        file.write("\\data\\\n" + "".join(f"ngram {n}={c}\n" for n, c in enumerate(counts, 1)))
        file.write("\n\\1-grams:\n-9\t<unk>\n-9\t<s>\t-1\n-2\t</s>\n")
        file.writelines(f"-5\tw{i}\t-0.5\n" for i in range(WORDS))
        file.write("\n\\2-grams:\n")
        file.writelines(f"-2\tw{i} w{i + 1}\t-0.25\n" for i in range(counts[1]))
        file.write("\n\\3-grams:\n")
        file.writelines(f"-1\tw{i} w{i + 1} w{i + 2}\n" for i in range(counts[2]))
        file.write("\n\\end\\\n")
    LanguageModel.load(arpa).compile(path)
    return path


def test_a_sound_file(compiled: Path) -> None:
    lm = LanguageModel.load(compiled)
    scores = lm.full_scores("w5 w6 w7 w8 w4 w5", bos=False, eos=False)
    assert [each.ngram_length for each in scores] == [1, 2, 3, 3, 1, 2]
    assert [each.log10 for each in scores] == [-5, -2, -1, -1, -5.75, -2]


@pytest.mark.parametrize("noise", ["random", "ones", "zeros", "shifted"])
def test_a_forged_file_is_survived(compiled: Path, tmp_path: Path, noise: str) -> None:
    content = np.fromfile(compiled, dtype=np.uint8)
    generator = np.random.default_rng(1)
    places = sections(content[:1216].tobytes())
    assert {"unigrams", "words", "offsets", "text", "ngrams2", "contexts1"} <= set(places)
    for offset, size in places.values():
        inside = content[offset + SAMPLE : offset + size - SAMPLE]
        if size <= 2 * SAMPLE:
            continue
        if noise == "random":
            inside[:] = generator.integers(0, 256, len(inside), dtype=np.uint8)
        elif noise == "shifted":
            words = inside[: len(inside) // 4 * 4].view(np.uint32)
            words[:] = np.roll(words, 12345)
        else:
            inside[:] = 255 if noise == "ones" else 0
    path = tmp_path / "damaged.bin"
    content.tofile(path)
    with pytest.raises(InputError, match="damaged: checksum of section"):
        LanguageModel.load(path)
    path.write_bytes(resealed(path.read_bytes()))
    lm = LanguageModel.load(path)
    chosen = random.Random(1).choices(range(WORDS), k=20_000)
    text = " ".join(f"w{i} w{i + 1} w{i + 2}" for i in chosen)
    assert isinstance(lm.score(text), float)
    assert len(lm.full_scores(text)) == 60_001
    (tmp_path / "text").write_text(text.replace(" ", "\n") + "\n" + text)
    assert lm.score_text(tmp_path / "text", threads=2).sentences == 60_001
    words = text.split()[:3000]
    state = lm.begin_state
    for word in words:
        _, state = lm.score_word(state, word)
    halves = [lm.combine(words[i : i + 4]) for i in range(0, len(words), 4)]
    lm.combine([*halves, "</s>"], bos=True)
    assert sum(1 for _ in zip(lm.words(), range(10_000), strict=False)) == 10_000
