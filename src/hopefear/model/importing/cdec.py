"""cdec.ini: a hierarchical grammar or one per sentence, language models, weights, search options.

`key=value` lines. Units are those of cdec: log10, word penalty -1/ln 10 per word. Rule features
keep their names in the grammar. Unknown settings that would change scores are errors.
"""

from __future__ import annotations

import math
import shlex
from functools import partial
from pathlib import Path
from typing import Any

from hopefear.base.errors import InputError, suggestion
from hopefear.base.files import PathLike
from hopefear.base.progress import Display
from hopefear.base.weights import Weights
from hopefear.decode.contract import FeatureSpec
from hopefear.model.importing.directory import Imported, ImportedLm, find_file, read_ini_lines

LOG10 = 1 / math.log(10)  # natural logs to log10

# Settings that do not change translations and scores. (The widening of the beam is for
# coarse-to-fine parsing, which is refused.)
_HARMLESS = {"threads", "quiet", "show_expected_length", "k_best", "unique_k_best", "input"}
_HARMLESS |= {"show_weights", "ctf_beam_widen"}
# Settings that change translations.
_REFUSED = {"beam_prune", "density_prune", "prelm_beam_prune", "prelm_density_prune"}
_REFUSED |= {"scale_prune_srclen", "summary_feature", "promise_power", "coarse_to_fine"}
_SEVERAL = {"grammar", "feature_function"}  # the other settings may occur once
_KNOWN = {
    "formalism",
    "grammar",
    "add_pass_through_rules",
    "scfg_no_hiero_glue_grammar",
    "scfg_max_span_limit",
    "scfg_default_nt",
    "goal",
    "intersection_strategy",
    "cubepruning_pop_limit",
    "feature_function",
    "weights",
}
_COUNTS = {  # cdec's counting feature functions: our feature, cdec's, factor
    "WordPenalty": [("words", "WordPenalty", -LOG10)],
    "SourceWordPenalty": [("source-words", "SourceWordPenalty", -LOG10)],
    "ArityPenalty": [(f"arity{k}", f"Arity_{k}", -LOG10) for k in range(3)],
}


def read_cdec_ini(ini: Path, weights: PathLike | None = None) -> Imported:
    """Read a cdec.ini; `weights`: a weights file to use instead of the one it names."""
    imported = Imported(system="hiero", weights=Weights(), rules=None)
    # Every hierarchical grammar of cdec has features for glue rules and untranslated words.
    imported.features = {
        "glue": FeatureSpec("Glue"),
        "pass-through": FeatureSpec("PassThrough"),
        "lm": FeatureSpec("LanguageModel", LOG10),
    }
    grammars: list[Path] = []
    options: dict[str, Any] = {"pass_through_all": False, "pop_limit": 200, "rule_limit": 0}
    options["glue_labels"] = "default"
    formalism = None
    places: dict[str, str] = {}
    for number, text in read_ini_lines(ini):
        place = f"{ini}:{number}"
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            raise InputError(f"{place}: {text[:40]!r}, expected key=value")
        if key in places and key not in _SEVERAL:
            raise InputError(f"{place}: {key} is given already, at {places[key]}; keep one")
        places[key] = place
        if key in _HARMLESS:
            continue
        if key in _REFUSED:
            raise InputError(
                f"{place}: unsupported setting {key}, which changes translations; remove it"
            )
        if key not in _KNOWN:
            hint = suggestion(key, _KNOWN)
            raise InputError(f"{place}: unsupported setting {key}; {hint}")
        if key == "formalism":
            formalism = value
            if value != "scfg":
                raise InputError(f"{place}: formalism={value}; only scfg can be imported")
        elif key == "grammar":
            grammars.append(find_file(ini, value, place))
        elif key == "add_pass_through_rules":
            options["pass_through_all"] = _boolean(value, place)
        elif key == "scfg_no_hiero_glue_grammar":
            options["glue"] = not _boolean(value, place)
        elif key == "scfg_max_span_limit":
            options["span_limit"] = _integer(value, place)
        elif key == "cubepruning_pop_limit":
            options["pop_limit"] = _integer(value, place)
        elif key == "scfg_default_nt" and value != "X":
            options["label"] = value
        elif key == "goal" and value != "S":
            options["glue_label"] = value
        elif key == "intersection_strategy":
            if value not in ("cube_pruning", "full"):
                raise InputError(f"{place}: {key}={value}, expected cube_pruning or full")
            if value == "full":
                options["search"] = "full"
        elif key == "feature_function":
            _feature_function(ini, place, value, imported)
        elif key == "weights" and weights is None:
            weights = find_file(ini, value, place)
    if formalism is None:
        raise InputError(f"{ini}: no line formalism=scfg; expected a cdec.ini")
    if weights is None:
        raise InputError(f"{ini}: names no weights; give --weights FILE")
    imported.decoder = options
    imported.weights = Weights.load(weights)
    if not len(imported.weights):
        raise InputError(f"{weights}: no weights, expected lines of NAME VALUE")
    if grammars:
        imported.rules = partial(_write_rules, grammars)
    else:
        imported.notes.append(
            f"{ini}: names no grammar, so each sentence needs its own, as in "
            '<seg grammar="FILE"> words </seg>'
        )
    return imported


def _feature_function(ini: Path, place: str, text: str, imported: Imported) -> None:
    try:
        name, *words = shlex.split(text)
    except ValueError:
        raise InputError(f"{place}: {text[:40]!r}, expected a name and words after it") from None
    if name in _COUNTS:
        if words:
            raise InputError(f"{place}: {name} {words[0]!r}, expected nothing after the name")
        for key, theirs, factor in _COUNTS[name]:
            if key in imported.features:
                raise InputError(f"{place}: a second {name}; keep one")
            imported.features[key] = FeatureSpec(theirs, factor)
        return
    if name != "KLanguageModel":
        known = ", ".join(sorted([*_COUNTS, "KLanguageModel"]))
        raise InputError(f"{place}: unsupported feature function {name}; supported are {known}")
    feature = "LanguageModel"
    while words and words[0].startswith("-"):
        flag = words.pop(0)
        if flag != "-n" or not words:
            raise InputError(
                f"{place}: unsupported option {flag} of KLanguageModel; supported is -n NAME"
            )
        feature = words.pop(0)
    if len(words) != 1:
        raise InputError(f"{place}: KLanguageModel, expected [-n NAME] FILE")
    if feature in imported.lms:
        raise InputError(f"{place}: a second {feature}; name it with -n NAME")
    imported.lms[feature] = ImportedLm(find_file(ini, words[0], place), place)
    imported.features[f"unknown.{feature}"] = FeatureSpec(f"{feature}_OOV")


def _boolean(text: str, place: str) -> bool:
    if text.lower() not in ("true", "false", "1", "0"):
        raise InputError(f"{place}: {text[:40]!r}, expected true or false")
    return text.lower() in ("true", "1")


def _integer(text: str, place: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise InputError(f"{place}: {text[:40]!r}, expected a whole number of at most 9 digits")
    return int(text)


def _write_rules(grammars: list[Path], output: Path, display: Display) -> dict[str, Any]:
    from hopefear.rules.cdec import import_grammar

    return import_grammar(*grammars, output=output, display=display)
