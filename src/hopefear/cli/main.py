"""The entry point of the command line: finds a command, reads its options, runs it.

Exit codes: 0 for success; 2 for an error that the user can fix (one line on stderr); 1 for a bug in
Hopefear; 130 for an interrupt. A closed output pipe (`hopefear … | head`) is no error.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import json
import os
import shutil
import signal
import sys
import textwrap
import traceback
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import hopefear
from hopefear.base import config, registry
from hopefear.base.console import Console
from hopefear.base.errors import (
    HopefearError,
    OptionError,
    Terminated,
    describe,
    escaped,
    suggestion,
)
from hopefear.base.files import is_same_file
from hopefear.base.progress import display
from hopefear.cli.command import OUTPUTS, SECTIONS, Command, Common, Reporting


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (default: `sys.argv`); return the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if sys.stderr is None:  # closed, as by 2>&-
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115
    if sys.stdout is None:  # the next file opened would become descriptor 1
        _complain("hopefear: stdout is closed; open it, for instance to /dev/null")
        return 2
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")
    interrupts = _handle_signals()
    try:
        code = _run(words)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader closed the pipe. Without this, Python reports an error when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        _complain("interrupted")
        return 130
    except (HopefearError, OSError, MemoryError) as error:
        if "--debug" in words:
            traceback.print_exc()
        _complain(f"hopefear: {_one_line(error)}")
        return 2
    except Exception as error:
        if interrupts:  # while a module was loaded, for instance, which hides the interrupt
            _complain("interrupted")
            return 130
        if "--debug" in words:
            traceback.print_exc()
        if lacking := _lacking_resource(error):
            _complain(f"hopefear: {lacking}")
            return 2
        _complain(
            f"hopefear: internal error: {escaped(describe(error))}; this is a bug, please report "
            "it with the output of --debug"
        )
        return 1


def _complain(text: str) -> None:
    with contextlib.suppress(OSError):  # stderr is closed; the exit code remains
        print(text, file=sys.stderr, flush=True)


def _handle_signals() -> list[int]:
    """Make signals raise exceptions, which remove temporary files and end other processes.

    Returns a list that gets the number of each Ctrl-C. Signals that are ignored, as by `nohup`,
    stay so.
    """
    interrupts: list[int] = []

    def interrupt(signum: int, frame: object) -> NoReturn:
        interrupts.append(signum)
        _expect_leaks()
        raise KeyboardInterrupt

    def terminate(signum: int, frame: object) -> NoReturn:
        _expect_leaks()
        raise Terminated(128 + signum)

    with contextlib.suppress(ValueError):  # signals can be set in the main thread only
        signal.signal(signal.SIGTERM, terminate)
        if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
            signal.signal(signal.SIGHUP, terminate)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, interrupt)
    return interrupts


def _expect_leaks() -> None:
    """Do not report objects of the engine that a thread still has when the process ends."""
    if engine := sys.modules.get("hopefear._engine"):
        with contextlib.suppress(AttributeError):  # it is being loaded
            engine.set_leak_warnings(False)


def _lacking_resource(error: Exception) -> str:
    """The message for an error that a limit of the system causes; empty for any other error."""
    if isinstance(error, ImportError) and "failed to map segment" in str(error):
        return _one_line(MemoryError())
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        return (
            "the system refuses to start another thread; give a smaller --threads, or raise the "
            "limits of memory and processes (ulimit -v, ulimit -u)"
        )
    return ""


def _one_line(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "out of memory; use less data or a smaller --memory"
    if isinstance(error, OSError) and error.strerror:
        # Only writing to a stream that is open already, such as stdout, fails without a name.
        unnamed = "<stdout>: " if error.errno == errno.ENOSPC else ""
        place = unnamed if error.filename is None else f"{error.filename}: "
        return escaped(place + error.strerror)
    return escaped(str(error).replace("\n", " "))


def _run(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        print(_overview(), end="")
        return 0
    if words[0] == "--version":
        print(f"hopefear {hopefear.__version__}")
        return 0
    # Before the options are read: plugins may add a system, and with it options of `train`.
    _load_plugins({"plugin": _plugins(words)})
    name, rest = _find(words)
    cls = _command(name)
    common, values, settings = _parse(name, cls, rest)
    command = config.from_mapping(cls, values)
    command.settings = settings
    _check_overwriting(command)
    as_json = isinstance(common, Reporting) and common.json
    console = Console(display(common.progress), json=as_json)
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = lambda message, *_: console.warn(str(message))
        try:
            report = command.run(console)
        except Terminated:
            raise
        except SystemExit as error:
            place = registry.place_in_plugin(error) or "a Python module"
            raise HopefearError(
                f"{place}: plugin ends the process with sys.exit({error.code!r}); raise an error "
                "instead"
            ) from error
        except (HopefearError, OSError, MemoryError):
            raise
        except Exception as error:
            if place := registry.place_in_plugin(error):
                raise HopefearError(f"{place}: plugin fails with {describe(error)}") from error
            raise
    if report is not None:
        if as_json:
            print(json.dumps(report, ensure_ascii=False))
        else:
            command.show(report, console)
        return command.exit_code(report)
    return 0


def _check_overwriting(command: Command) -> None:
    """Raise an `OptionError` if an output is a file that is also an input: it would be lost."""
    fields = [field for field in config.fields_of(type(command)) if field.item_type is Path]
    paths = {field.name: _as_list(getattr(command, field.attribute)) for field in fields}
    for output in (name for name in OUTPUTS if name in paths):
        inputs = [path for name in paths if name not in OUTPUTS for path in paths[name]]
        for path in paths[output]:
            if path.is_file() and any(is_same_file(path, other) for other in inputs):
                flag = "--" + output.replace("_", "-")
                raise OptionError(
                    f"{flag} {path}: is an input and would be overwritten; give another name"
                )


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _plugins(words: list[str]) -> list[str]:
    """The values of --plugin, found before the other options are read."""
    paths, flag = [], ""
    for word in words:
        if word.startswith("-"):
            flag, equals, value = word.partition("=")
            paths += [value] if equals and flag == "--plugin" else []
        elif flag == "--plugin":
            paths.append(word)
    return paths


def _find(words: list[str]) -> tuple[str, list[str]]:
    """The command named by the first word or the first two words, and the remaining words."""
    splits = [(" ".join(words[:n]), words[n:]) for n in (2, 1) if len(words) >= n]
    for name, rest in splits:  # without importing the modules of all commands
        if registry.has_module("command", name):
            return name, rest
    known = registry.names("command")
    for name, rest in splits:
        if name in known:
            return name, rest
    first = words[0]
    members = [name.split(" ", 1)[1] for name in known if name.startswith(first + " ")]
    if members:
        if len(words) == 1 or words[1] in ("-h", "--help"):
            print(_listing(first + " "), end="")
            raise SystemExit(0 if len(words) > 1 else 2)
        hint = suggestion(words[1], members)
        raise OptionError(f"unknown command '{first} {words[1]}'; {hint}")
    if first.startswith("-"):
        raise OptionError(f"unknown option {first!r}; give a command first, see 'hopefear --help'")
    hint = suggestion(first, {name.split(" ")[0] for name in known})
    raise OptionError(f"unknown command {first!r}; {hint}")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise OptionError(f"{message}; see '{self.prog} --help'")


def _parser(name: str, cls: type[Command]) -> argparse.ArgumentParser:
    doc = _reflow(textwrap.dedent("    " + (cls.__doc__ or "")).strip())
    epilog = ""
    if cls.examples:
        epilog = "examples:\n" + "\n".join(f"  {example}" for example in cls.examples)
    epilog = "".join(map(_component_options, cls.components.values())) + epilog
    parser = _Parser(
        prog=f"hopefear {name}",
        usage=config.usage(f"hopefear {name}", cls),
        description=doc,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    config.add_arguments(parser, cls)
    group = parser.add_argument_group("common options")
    config.add_arguments(group, Reporting if cls.reports else Common)
    return parser


def _component_options(kind: str) -> str:
    """The help on the options that --set accepts for each component of a kind."""
    lines = [f"options of each {kind} (--set KEY=VALUE; meanings: docs/options/{kind}s.md):\n"]
    for name in registry.names(kind):
        shown = [
            f"{field.name}={_shown(field.default)}"
            for field in config.fields_of(registry.get(kind, name))
            if not field.required
        ]
        text = ", ".join(shown) or "none"
        start = f"  {name}: "
        lines.append(
            textwrap.fill(text, _columns(), initial_indent=start, subsequent_indent=" " * 6)
        )
        lines.append("\n")
    return "".join(lines).replace("%", "%%") + "\n"


def _shown(value: Any) -> str:
    """A default as it is written on the command line; empty if there is none."""
    if isinstance(value, list):
        return f"'{' '.join(map(_shown, value))}'" if value else ""
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def _reflow(text: str) -> str:
    """Wrap paragraphs at the width of the terminal; tables and lists stay as they are."""
    width = _columns()
    paragraphs = text.split("\n\n")
    kept = ("\n ", "\n- ", "\n* ")
    return "\n\n".join(
        p if any(start in "\n" + p for start in kept) else textwrap.fill(p, width)
        for p in paragraphs
    )


def _columns() -> int:
    return max(40, min(100, shutil.get_terminal_size().columns - 2))


Settings = dict[str, dict[str, Any]]  # field that names a component -> options of the component


def _parse(
    name: str, cls: type[Command], words: list[str]
) -> tuple[Common, dict[str, Any], Settings]:
    """The common options, the options of the command, and those of its components.

    The command line overrides --set, which overrides the config file.
    """
    parser = _parser(name, cls)
    namespace, unknown = parser.parse_known_args(words)
    if unknown:
        flags = [flag for action in parser._actions for flag in action.option_strings]
        if unknown[0].startswith("-"):
            hint = suggestion(unknown[0].split("=")[0], [f for f in flags if f.startswith("--")])
            if not hint.startswith("did"):
                hint = f"see '{parser.prog} --help'"
            raise OptionError(f"unknown option {unknown[0]!r}; {hint}")
        raise OptionError(f"unexpected argument {unknown[0]!r}; see '{parser.prog} --help'")
    common_class = Reporting if cls.reports else Common
    common_names = {field.name for field in config.fields_of(common_class)}
    options = vars(namespace)
    common = config.from_mapping(
        common_class, {key: value for key, value in options.items() if key in common_names}
    )
    values: dict[str, Any] = {}
    tables: dict[str, Any] = {}  # component -> its table in the config file
    _load_plugins(options)  # other options may name components of plugins
    if common.config is not None:
        values, tables = _from_file(common.config, name, cls)
    own = {field.name for field in config.fields_of(cls)}
    own_pairs: list[str] = []
    component_pairs: list[str] = []
    for pair in common.set:
        key = pair.partition("=")[0].strip().replace("-", "_")
        (own_pairs if not cls.components or key in own else component_pairs).append(pair)
    set_values = config.parse_pairs(cls, own_pairs)
    _load_plugins(set_values)
    values.update(set_values)
    values.update({key: value for key, value in options.items() if key not in common_names})
    return common, values, _settings(cls, values, tables, component_pairs)


def _load_plugins(values: Mapping[str, Any]) -> None:
    """Import the files of --plugin, which register components such as templates or tuners."""
    for path in values.get("plugin") or ():
        registry.load_plugin(Path(path))


def _settings(
    cls: type[Command], values: dict[str, Any], tables: dict[str, Any], pairs: list[str]
) -> Settings:
    """The options of the command's components; --set overrides the config file.

    `--set KEY=VALUE` applies to the first component that has the key; `--set metric.KEY=VALUE`
    applies to the metric.
    """
    fields = [field for field in config.fields_of(cls) if field.name in cls.components]
    chosen = {field.name: values.get(field.name, field.default) for field in fields}
    if not all(isinstance(chosen[field.name], str) for field in fields if field.required):
        return {}  # a required component is missing; `from_mapping` reports it
    named = {
        field: registry.get(kind, chosen[field])
        for field, kind in cls.components.items()
        if isinstance(chosen[field], str)
    }
    settings: Settings = {field: dict(tables.get(chosen[field], {})) for field in named}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals:
            raise OptionError(f"--set {pair}: expected key=value")
        field, dot, name = key.strip().partition(".")
        if not dot:
            name = field.replace("-", "_")
            owners = [f for f, c in named.items() if name in {x.name for x in config.fields_of(c)}]
            if not owners:
                missing = [f"--{f.replace('_', '-')}" for f in cls.components if f not in named]
                if missing:
                    raise OptionError(
                        f"--set {name}: no {' or '.join(missing)} is given that could have this "
                        "option; give it, or leave the option out"
                    )
                known = {x.name for c in (cls, *named.values()) for x in config.fields_of(c)}
                raise OptionError(f"--set: unknown key {name!r}; {suggestion(name, known)}")
            field = owners[0]
        elif field not in named:
            raise OptionError(
                f"--set: unknown component {field!r} in {key!r}; {suggestion(field, named)}"
            )
        settings[field].update(config.parse_pairs(named[field], [f"{name}={text}"]))
    return settings


def _from_file(path: Any, name: str, cls: type[Command]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The command's table in a config file (`[tune]`, `[lm.estimate]`).

    Returns the options of the command, and the tables of components in it (`[tune.mert]`).
    """
    mapping: Any = config.load_toml(path)
    place = f"{path}"
    for part in name.split(" "):
        mapping = mapping.get(part) if isinstance(mapping, dict) else None
    if not isinstance(mapping, dict):
        raise OptionError(f"{place}: has no table [{name.replace(' ', '.')}]; add one")
    fields = {field.name: field for field in config.fields_of(cls)}
    if "plugin" in mapping and "plugin" in fields:
        _load_plugins({"plugin": config.convert_value(fields["plugin"], mapping["plugin"], place)})
    kinds = {n: kind for kind in cls.components.values() for n in registry.names(kind)}
    values, tables = {}, {}
    for key, value in mapping.items():
        if key in kinds and isinstance(value, dict):
            component = registry.get(kinds[key], key)
            config.from_mapping(component, value, f"{place}: [{name}.{key}]")
            tables[key] = value
        elif key in fields:
            values[key] = config.convert_value(fields[key], value, f"{place}: {key}")
        else:
            raise OptionError(f"{place}: unknown key {key!r}; {suggestion(key, fields)}")
    return values, tables


def _command(name: str) -> type[Command]:
    return registry.get("command", name)


def _summary(name: str) -> str:
    return (_command(name).__doc__ or "").strip().split("\n")[0].rstrip(".")


def _listing(prefix: str) -> str:
    names = [name for name in registry.names("command") if name.startswith(prefix)]
    return _table(names, "  hopefear ")


def _table(names: Sequence[str], start: str) -> str:
    """The names and summaries of commands, wrapped at the width of the terminal."""
    left = max(map(len, registry.names("command"))) + 2
    indent = " " * (len(start) + left)
    lines = (
        textwrap.fill(
            _summary(name),
            _columns(),
            initial_indent=start + name.ljust(left),
            subsequent_indent=indent,
        )
        for name in names
    )
    return "".join(f"{line}\n" for line in lines)


def _overview() -> str:
    names = registry.names("command")
    parts = [
        _reflow(
            "Hopefear is a toolkit for statistical machine translation and the discriminative "
            "learning of its weights."
        ),
        "\n\nusage: hopefear COMMAND [options]        hopefear COMMAND --help\n",
    ]
    for section in SECTIONS:
        members = [n for n in names if _command(n).section == section]
        if members:
            parts.append(f"\n{section}\n{_table(members, '  ')}")
    end = (
        "Results are written to stdout, everything else to stderr; '-' is stdin or stdout; files "
        "named .gz are compressed. Exit codes: 0 (success), 2 (an error in the input or the "
        "options), 1 (a bug in Hopefear), 130 (interrupted)."
    )
    parts.append(f"\n{_reflow(end)}\n")
    return "".join(parts)
