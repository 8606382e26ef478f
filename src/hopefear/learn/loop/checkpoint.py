"""The state of a run, `checkpoint/state.json`: its form, and digests against damage.

A state lists the files that a resumed run reads, each with its size and a digest, and ends with a
digest of its own content. `check_state` names a value of a wrong form, `check_files` a file that
changed after the state was written. States of version 0.1.0 before digests have none; their form is
checked all the same.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hopefear.base.errors import InputError
from hopefear.base.files import digest_of

State = dict[str, Any]

MAX_ITERATION = 99
DIGEST = "digest"
_REMEDY = "tune again in a new directory"
_LARGEST = 1e300  # limit of numbers; also comparable with integers of any length
_PHASES = ("optimised", "decoded", "finished")
_REQUIRED = ("iteration", "records", "useless")
_SCORES = ("score", "bleu", "length_ratio")  # of a decoded iteration
_NUMBERS = (
    *_SCORES,
    *("heldout_score", "heldout_bleu", "heldout_length_ratio", "sample_score", "decodings"),
    *("objective", "change", "decode_seconds", "optimise_seconds"),
)
_INTEGERS = ("active_features", "new_candidates", "candidates", "without_translation")
_TEXTS = ("judged",)
_TABLES = ("notes", "active_by_template")
_FILE = re.compile(
    r"(iterations|checkpoint|checkpoint/learners-\d+|checkpoint/pool|checkpoint/pool/mapped)/\w[\w.-]*"
)


# -- the form --


def check_state(path: Path, state: Any, *, resume: bool) -> State:
    """Return the state if its values have the right form; a run to be resumed needs all of them."""
    if not isinstance(state, dict):
        raise _wrong(path, "content", state, "an object")
    if state.get("phase") not in _PHASES:
        raise _wrong(path, "phase", state.get("phase"), f"one of {', '.join(_PHASES)}")
    required = (*_REQUIRED, *(("stopped",) if state["phase"] == "finished" else ()))
    missing = [key for key in required if resume and key not in state]
    if missing:
        raise _wrong(path, missing[0], None, "a value")
    checks = {
        "iteration": (_is_iteration, f"an integer from 0 to {MAX_ITERATION}"),
        "useless": (_is_useless, "the lists never_fired and constant of names"),
        "stopped": (_is_text, "a text"),
        "chosen": (_is_iteration, f"an integer from 0 to {MAX_ITERATION}"),
        "files": (_is_files, "sizes and digests of files of the run"),
        DIGEST: (_is_text, "a text"),
        "records": (lambda value: isinstance(value, list), "a list"),
    }
    for key, (right, expected) in checks.items():
        if key in state and not right(state[key]):
            raise _wrong(path, key, state[key], expected)
    for number, record in enumerate(state.get("records", [])):
        _check_record(path, number, record)
    if resume:
        _check_number_of_records(path, state)
    if state.get(DIGEST, digest_of_state(state)) != digest_of_state(state):
        raise InputError(
            f"{path}: its digest is {state[DIGEST]!r}, expected {digest_of_state(state)!r} for its "
            f"content: the file changed after it was written; {_REMEDY}"
        )
    return state


def _check_record(path: Path, number: int, record: Any) -> None:
    place = f"records[{number}]"
    if not isinstance(record, dict):
        raise _wrong(path, place, record, "an object")
    if record.get("iteration") != number or not _is_iteration(record["iteration"]):
        raise _wrong(path, f"{place}.iteration", record.get("iteration"), str(number))
    checks = (
        (_NUMBERS, _is_number, "a finite number"),
        (_INTEGERS, lambda value: value is None or _is_count(value), "a number of things"),
        (_TEXTS, _is_text, "a text"),
        (_TABLES, lambda value: isinstance(value, dict), "an object"),
        (("warnings",), _is_texts, "a list of texts"),
        (("mean_of",), _is_mean, "a list of iterations"),
    )
    for keys, right, expected in checks:
        for key in keys:
            if key in record and not right(record[key]):
                raise _wrong(path, f"{place}.{key}", record[key], expected)


def _check_number_of_records(path: Path, state: Mapping[str, Any]) -> None:
    """Check that there is a record for each iteration, decoded ones with their scores."""
    phase, iteration, records = state["phase"], state["iteration"], state["records"]
    mean = int(phase == "finished" and "mean_of" in (records[-1] if records else {}))
    started = phase != "optimised" or iteration > 0  # the start has no record before its decoding
    count = iteration + started + mean
    if len(records) != count:
        raise _wrong(path, "records", f"{len(records)} records", f"{count}")
    decoded = iteration if phase == "optimised" else count
    needed = {number: [*_SCORES, "active_features"] for number in range(decoded)}
    for number in range(1, iteration + 1):
        needed.setdefault(number, []).append("change")
    for number, keys in needed.items():
        for key in keys:
            if key not in records[number]:
                raise _wrong(path, f"records[{number}].{key}", None, "a number")
    # A held-out set is scored at each iteration or at none.
    heldout = ["heldout_score" in record for record in records[:decoded]]
    if len(set(heldout)) > 1:
        number = heldout.index(False)
        raise _wrong(path, f"records[{number}].heldout_score", None, "a number, as in others")
    if not 0 <= state.get("chosen", 0) < max(1, len(records)):
        raise _wrong(path, "chosen", state["chosen"], f"less than {len(records)}")


def _wrong(path: Path, place: str, value: Any, expected: str) -> InputError:
    shown = "missing" if value is None else repr(value)
    shown = shown if len(shown) <= 40 else f"{shown[:40]} …"
    return InputError(
        f"{path}: not the state of a run: {place} is {shown}, expected {expected}; {_REMEDY}"
    )


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _is_iteration(value: Any) -> bool:
    return _is_count(value) and value <= MAX_ITERATION + 1  # the mean is one more


def _is_number(value: Any) -> bool:
    real = isinstance(value, int | float) and not isinstance(value, bool)
    return real and abs(value) < _LARGEST  # false for NaN


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_mean(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 1 and all(map(_is_iteration, value))


def _is_useless(value: Any) -> bool:
    keys = {"never_fired", "constant"}
    return isinstance(value, dict) and value.keys() == keys and all(map(_is_texts, value.values()))


def _is_files(value: Any) -> bool:
    return isinstance(value, dict) and all(
        _FILE.fullmatch(name)
        and isinstance(entry, list)
        and len(entry) == 2
        and _is_count(entry[0])
        and _is_text(entry[1])
        for name, entry in value.items()
    )


# -- digests --


def digest_of_state(state: Mapping[str, Any]) -> str:
    """Return a hash of a state without its digest."""
    content = {key: value for key, value in state.items() if key != DIGEST}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


class Digests:
    """Digests of the files of a run; each content is hashed once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: dict[Path, tuple[tuple[int, int, int], list[Any]]] = {}

    def of(self, paths: Iterable[Path]) -> dict[str, list[Any]]:
        """Return the size and the digest of each file, by its path relative to the run."""
        return {path.relative_to(self.folder).as_posix(): self._entry(path) for path in paths}

    def check(self, state: Path, files: Mapping[str, Any]) -> None:
        """Raise an error if a file is missing or differs from its entry in the state."""
        for name, (size, digest) in files.items():
            path = self.folder / name
            if not path.is_file():
                raise InputError(f"{path}: no such file, but {state} needs it; {_REMEDY}")
            now = path.stat().st_size
            # Candidates in files grow at their end, also in a run that was killed.
            grows = path.parent.name == "mapped" and now > size
            if now != size and not grows:
                raise InputError(
                    f"{path}: has {now:,} bytes, expected {size:,} as in {state}: it is "
                    f"damaged; {_REMEDY}"
                )
            found = digest_of(path, size)
            if found != digest:
                raise InputError(
                    f"{path}: its digest is {found}, expected {digest} as in {state}: it changed "
                    f"after it was written; {_REMEDY}"
                )

    def _entry(self, path: Path) -> list[Any]:
        status = path.stat()
        version = (status.st_ino, status.st_size, status.st_mtime_ns)
        known = self._known.get(path)
        if known is None or known[0] != version:
            size = status.st_size
            known = (version, [size, digest_of(path, size)])
            self._known[path] = known
        return known[1]
