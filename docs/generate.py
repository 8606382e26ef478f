"""Write configs/*.toml and docs/options/*.md from the dataclasses whose fields are the options, and
docs/examples/*.md from the notebooks in examples/.

    python docs/generate.py       writes what is not current; so does `make generate`

The classes come from the registry, so that a new tuner, metric or command is included without
further registration.
`tests/unit/test_configs.py` fails while a committed file is not current. A page includes the
table of one component with

    ```{include} options/tuners.md
    :start-after: <!-- mert -->
    :end-before: <!-- end -->
    ```
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from hopefear.base import config, registry
from hopefear.base.config import Field, Size
from hopefear.cli.command import Reporting
from hopefear.decode.systems.base import get_system
from hopefear.text.pipeline import TextOptions

REPOSITORY = Path(__file__).resolve().parents[1]
COMMAND = "make generate"

# -- options --


def summary(cls: type) -> str:
    """The first sentence of what describes a component: its docstring, or that of its module."""
    own = cls.__doc__ or ""
    written = own if own and not own.startswith(f"{cls.__name__}(") else None
    text = written or inspect.getdoc(inspect.getmodule(cls)) or ""
    return " ".join(text.split("\n\n")[0].partition("  [")[0].split()).rstrip(".")


def components(kind: str) -> Iterator[tuple[str, type, list[Field]]]:
    """Name, class and options of each component that the package itself registers."""
    for name in registry.names(kind):
        cls = registry.get(kind, name)
        if not cls.__module__.startswith("hopefear."):
            continue  # of a plugin, or of the tests
        # Of a system: of its search; those of extraction are options of `train`.
        described = get_system(name).decoder_class.options_class if kind == "system" else cls
        fields = config.fields_of(described) if hasattr(described, "__dataclass_fields__") else []
        yield name, cls, fields


def is_command(cls: type) -> bool:
    return hasattr(cls, "reports")


def range_of(field: Field) -> str:
    low, high = (
        f"{x:,}" if isinstance(x, int) else x for x in (field.option.min, field.option.max)
    )
    if low is not None and high is not None:
        return f"{low} to {high}"
    if low is not None:
        return f"≥ {low}"
    return "" if high is None else f"≤ {high}"


def values_of(field: Field, command: bool = False) -> str:
    """The values of an option: their type and range, or the choices."""
    kind = field.item_type
    if kind is bool:
        return "switch" if command else "true, false"
    if get_origin(kind) is Literal:
        noun = ", ".join(map(str, get_args(kind)))
    else:
        nouns = {int: "whole number", float: "number", Path: "file", Size: "size, such as 512M"}
        noun = f"{nouns.get(kind, 'text')} {range_of(field)}".rstrip()
    return f"list: {noun}" if field.is_list else noun


def switched_off(field: Field, command: bool) -> bool:
    """Whether the option of a command is there to set a value to false (`--no-distinct`)."""
    return command and field.type is bool and field.default is True


# -- tables of the documentation --


def table(fields: Iterable[Field], command: bool = False) -> str:
    rows = [("option", "values", "default", "meaning"), ("---",) * 4]
    for field in fields:
        name = field.name
        if field.option.positional:
            name = field.option.metavar or name.upper()
        elif command:
            long = "--no-" + field.flag[2:] if switched_off(field, command) else field.flag
            name = "`, `".join([*field.option.flags, long])
        default = "" if command and field.type is bool else shown_default(field)
        rows.append((f"`{name}`", values_of(field, command), default, cell(field.option.help)))
    return "".join("| " + " | ".join(row).replace("|  |", "| |") + " |\n" for row in rows)


def shown_default(field: Field) -> str:
    if field.required:
        return "required"
    values = field.default if isinstance(field.default, list) else [field.default]
    return ", ".join(
        f"`{toml(value)}`".replace('"', "") for value in values if value not in (None, "")
    )


def cell(text: str) -> str:
    """Plain text as Markdown in a table."""
    for sign in "\\|*<[$":
        text = text.replace(sign, "\\" + sign)
    return text


def page(title: str, about: str, kind: str) -> str:
    parts = [f"# {title}\n\n{about}\n"]
    for name, cls, fields in components(kind):
        parts.append(f"\n## {name}\n\n{cell(summary(cls))}.\n")
        if is_command(cls):
            parts.append(f"\n    {usage(name, cls)}\n")
            fields = config.help_order(cls)
        if fields:
            rows = table(fields, is_command(cls))
            parts.append(f"\n<!-- {name} -->\n{rows}<!-- end -->\n")
        if kind == "system":
            rows = table(config.fields_of(get_system(name).extract_options), command=True)
            parts.append(f"\nOptions of the extraction:\n\n{rows}")
    return "".join(parts)


def usage(name: str, cls: type) -> str:
    return config.usage(f"hopefear {name}", cls).replace("%%", "%").replace("\n", "\n    ")


def pages() -> dict[str, str]:
    common = table(config.fields_of(Reporting), command=True)
    text = table(config.fields_of(TextOptions), command=True)
    return {
        "commands": page(
            "Commands and their options",
            "In a config file (`--config`) and with `--set`, options have their names without the "
            "leading dashes and\nwith `_` in place of `-`. Every command has these options "
            "(`--json` only if it reports something):\n\n" + common.rstrip(),
            "command",
        ),
        "tuners": page(
            "Options of the tuners",
            "Given with `--set KEY=VALUE`, or in a table of a config file (`[tune.mert]`). The "
            "methods are described in\n[Tuners](../reference/tuners/index.md).",
            "tuner",
        ),
        "metrics": page(
            "Options of the metrics",
            "Given with `--set metric.KEY=VALUE`, or in a table of a config file (`[tune.bleu]`). "
            "The metrics are\ndefined in [Metrics](../reference/metrics.md).",
            "metric",
        ),
        "features": page(
            "Options of the feature templates",
            "Given as `--templates NAME:option=value`, or in `model.toml` (`[features.NAME]`). "
            "The "
            "templates are described\nin [Feature templates](../reference/features.md).",
            "feature",
        ),
        "list-features": page(
            "Options of the list features",
            "Given as `hopefear rerank features --add NAME:KEY=VALUE,KEY=VALUE`. The list features "
            "are described\nin [Reranking](../guides/reranking.md#more-features-without-a-gpu).",
            "list-feature",
        ),
        "list-formats": page(
            "Options of the list formats",
            "Given as `hopefear rerank convert --system NAME --system-set KEY=VALUE`. The formats "
            "are described\nin [Reranking](../guides/reranking.md#lists-of-other-systems).",
            "list-format",
        ),
        "systems": page(
            "Options of the systems",
            "Options of the search are given with `--options KEY=VALUE`, or in `model.toml` "
            "(`[decoder]`); those of\nthe extraction are options of `hopefear extract` and "
            "`train`.",
            "system",
        ),
        "tokenizers": page(
            "Text steps and tokenizers",
            f"Options of one side of a model (`[text.source]`, `[text.target]` in `model.toml`) "
            f"and of `hopefear text tokenize`:\n\n{text.rstrip()}",
            "tokenizer",
        ),
    }


# -- example configurations --

WIDTH, COLUMN = 100, 27


def config_head(what: str, *examples: str) -> str:
    lines = [
        f"# Every option of {what}, with its default. Written by `{COMMAND}`.",
        "#",
        *(f"#     {example}" for example in examples),
        "#",
        *comment(
            "The command line and --set override what stands here. Options behind '# ' have no "
            "default; to use one, take the mark away and give a value."
        ),
    ]
    return "\n".join(lines) + "\n"


def comment(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="# ", subsequent_indent="# ")


def toml(value: Any) -> str:
    """A default as TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, (str, Path, Size)):
        return f'"{value}"'
    return f"{value:g}" if isinstance(value, float) and value < 1e-3 and value else str(value)


def example(field: Field) -> str:
    """What stands for the value of an option that has no default."""
    kind = field.item_type
    if get_origin(kind) is Literal:
        text = toml(get_args(kind)[0])
    else:
        text = {int: "N", float: "X", bool: "true"}.get(kind, f'"{field.option.metavar or "FILE"}"')
    return f"[{text}]" if field.is_list else text


def meaning(field: Field, command: bool) -> str:
    """The help, and what it does not say of the values."""
    text = ("false: " if switched_off(field, command) else "") + field.option.help
    choices = get_args(field.item_type) if get_origin(field.item_type) is Literal else ()
    if choices and any(str(choice) not in text for choice in choices):
        return f"{text} ({', '.join(map(str, choices))})"
    if field.option.max is not None:
        return f"{text} ({range_of(field)})"
    return text


def line(field: Field, command: bool = False) -> str:
    """`key = value  # meaning`, the meaning in as many lines as it needs."""
    key = f"# {field.name} = {example(field)}"
    if field.default is not None:
        key = f"{field.name} = {toml(field.default)}"
    start = key.ljust(COLUMN) if len(key) < COLUMN else key + " "
    indent = " " * COLUMN + "# "
    lines = textwrap.wrap(
        meaning(field, command),
        WIDTH,
        initial_indent=start + "# ",
        subsequent_indent=indent,
        break_on_hyphens=False,
    )
    return "\n".join(lines) + "\n"


def sections(cls: type) -> str:
    """The options of a command: its own, then those of each class that it takes options from."""
    parts: dict[type, str] = {cls: ""}
    for field in config.help_order(cls):
        owner = next(c for c in cls.__mro__ if field.attribute in inspect.get_annotations(c))
        head = "\n" + "\n".join(comment(summary(owner))) + "\n"
        parts.setdefault(owner, head)
        if not field.required:
            parts[owner] += line(field, command=True)
    return "".join(parts.values())


def command_config(name: str, *examples: str) -> str:
    cls = registry.get("command", name)
    parts = [config_head(f"`hopefear {name}`", *examples), f"\n[{name}]\n", sections(cls)]
    for field, kind in cls.components.items():
        parts.append(f"\n# Options of each {kind}; only those of --{field} count.\n")
        for component, _, fields in components(kind):
            key = component if component.replace("-", "").isalnum() else f'"{component}"'
            parts += [f"\n[{name}.{key}]\n", *map(line, fields)]
    return "".join(parts)


def decoder_config(name: str, fields: Iterable[Field]) -> str:
    head = [
        f"# Every option of {name} search, with its default. Written by `{COMMAND}`.",
        *comment(
            "They stand in the table [decoder] of a model's model.toml, and for one run after "
            "--options:"
        ),
        "#",
        "#     hopefear translate --model fr-en --options KEY=VALUE …",
    ]
    return "\n".join(head) + "\n\n[decoder]\n" + "".join(map(line, fields))


def configs() -> dict[str, str]:
    made = {
        "train": command_config(
            "train", "hopefear train --config configs/train.toml train.fr train.en --model fr-en"
        ),
        "translate": command_config(
            "translate",
            "hopefear translate --config configs/translate.toml --model fr-en -i test.fr -o out",
        ),
        "tune": command_config(
            "tune",
            "hopefear tune --config configs/tune.toml --model fr-en --dev dev.fr --refs dev.en \\",
            "              --tuner mert -o run",
        ),
    }
    decoders = {name: fields for name, _, fields in components("system")}
    return made | {f"decoder.{name}": decoder_config(name, f) for name, f in decoders.items()}


# -- notebooks --

CELL = "# %%"


def notebooks() -> dict[str, str]:
    """Each script of examples/ in the percent format as a page, by its name."""
    folder = REPOSITORY / "examples"
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py"))}
    return {name: notebook(name, text) for name, text in texts.items() if text.startswith(CELL)}


def notebook(name: str, text: str) -> str:
    """A script in the percent format as Markdown; a code cell becomes a block of code."""
    parts = []
    for cell in text.removeprefix(CELL).split(f"\n{CELL}"):
        kind, _, body = cell.partition("\n")
        if kind.strip() == "[markdown]":
            lines = [line.removeprefix("#").removeprefix(" ") for line in body.strip().splitlines()]
            parts.append("\n".join(lines))
        else:
            parts.append(f"```py\n{body.strip()}\n```")
    title, _, rest = parts[0].partition("\n")
    note = (
        f"This page is `examples/{name}.py`, written by `{COMMAND}`. Run the file as a script, or "
        "cell by cell as a\nnotebook: [how](../guides/examples.md)."
    )
    return "\n\n".join([title, note, rest.strip(), *parts[1:]]) + "\n"


# -- files --


def files() -> dict[Path, str]:
    """The contents of all generated files, by their paths."""
    folder = REPOSITORY / "configs"
    made = {folder / f"{name}.toml": text for name, text in configs().items()}
    folder = REPOSITORY / "docs" / "options"
    made |= {folder / f"{name}.md": text for name, text in pages().items()}
    folder = REPOSITORY / "docs" / "examples"
    return made | {folder / f"{name}.md": text for name, text in notebooks().items()}


def outdated() -> list[Path]:
    return [
        path
        for path, text in files().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]


if __name__ == "__main__":
    made = files()
    for path in outdated():
        path.parent.mkdir(exist_ok=True)
        path.write_text(made[path], encoding="utf-8")
        print(path.relative_to(REPOSITORY))
