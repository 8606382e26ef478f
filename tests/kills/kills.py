"""Kill commands at random times, resume them, and compare the results with undisturbed runs.

    python tests/kills/kills.py --kills 100 --seed 1 [--only NAME …] [--work DIR]

Each kill starts a command of CASES in a directory of its own and sends SIGINT, SIGTERM or SIGKILL
after a random part of the time that the command takes undisturbed; every third command is killed
once more while it resumes. After each kill no process may be left and, unless it was killed by
SIGKILL, no temporary file of its own; after the resumed command, which must succeed, the output
files must equal those of the undisturbed run byte by byte, without any temporary file. Prints a
table, and a line for each fault; the exit code is 1 if there is one.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

PROGRAM = [sys.executable, "-m", "hopefear"]
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
MARK = "HOPEFEAR_KILLS"  # an environment variable: what has it was started by this script
SECONDS = 300


@dataclass(frozen=True)
class Case:
    """A command, the option with which it resumes, and its output files."""

    words: str
    outputs: tuple[str, ...]
    resume: str = ""


TUNE = "tune --dev {w}/dev.zh --refs {w}/dev.en.0 {w}/dev.en.1 --tokenized -o run"
DECODER = shlex.join(PROGRAM) + (
    " translate --model {m} --weights {{weights}} --tokenized -i {{input}} --nbest {{k}} "
    "--nbest-out {{nbest}} -o /dev/null"
)
CASES = {
    "train": Case(
        "train {w}/train.zh {w}/train.en --model model --tokenized --order 3 --folds 2",
        ("model/lm.bin", "model/rules.bin", "model/weights.tsv", "model/word-lists.tsv"),
    ),
    "tune batch": Case(
        TUNE + " --model {m} --tuner pro --iterations 3", ("run/weights.tsv",), "--resume"
    ),
    "tune forest": Case(
        TUNE + " --model {m} --tuner mert --set space=forest --iterations 2",
        ("run/weights.tsv",),
        "--resume",
    ),
    "tune online": Case(
        TUNE + " --model {m} --tuner mira --iterations 3", ("run/weights.tsv",), "--resume"
    ),
    "tune external": Case(
        TUNE
        + f" --decoder {shlex.quote(DECODER)} --weights {{m}}/weights.tsv --tuner pro"
        + " --iterations 2 --threads 2",
        ("run/weights.tsv",),
        "--resume",
    ),
    "translate": Case(
        "translate --model {m} --tokenized -i {w}/train.zh -o text --nbest 5 --nbest-out lists.gz",
        ("text", "lists.gz"),
    ),
    "lm estimate": Case(
        "lm estimate {w}/large.en -o lm.arpa --order 4 --memory 44M --discount-fallback",
        ("lm.arpa",),
    ),
    "align": Case(
        "align {w}/train.zh {w}/train.en -o links --save-model aligner",
        ("links",),
    ),
    "extract": Case(
        "extract {w}/train.zh {w}/train.en {w}/links --system hiero -o rules", ("rules/rules.bin",)
    ),
}


class Kills:
    """The folder of all runs, and what was found."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.random = folder, random.Random(seed)
        self.faults: list[str] = []
        self.codes: Counter[str] = Counter()
        self.seconds: dict[str, float] = {}

    def prepare(self) -> None:
        """Make the texts, a model and the outputs of undisturbed runs."""
        for words in (
            "world -o {w} --train 400 --dev 12 --test 2 --seed 3",
            "train {w}/train.zh {w}/train.en --model {m} --tokenized --order 3",
            "align {w}/train.zh {w}/train.en -o {w}/links",
        ):
            self.succeed(words, self.folder)
        text = (self.folder / "w" / "train.en").read_bytes()
        (self.folder / "w" / "large.en").write_bytes(text * 40)

    def words(self, text: str) -> list[str]:
        places = {"w": self.folder / "w", "m": self.folder / "m"}
        return [*PROGRAM, *shlex.split(text.format(**places)), "--progress", "off"]

    def start(self, text: str, folder: Path) -> subprocess.Popen[bytes]:
        folder.mkdir(exist_ok=True)
        (folder / "tmp").mkdir(exist_ok=True)
        return subprocess.Popen(
            self.words(text),
            cwd=folder,
            env={**os.environ, "TMPDIR": str(folder / "tmp"), MARK: str(os.getpid())},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=(folder / "stderr").open("wb"),
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def succeed(self, text: str, folder: Path) -> None:
        if self.start(text, folder).wait(SECONDS) != 0:
            raise SystemExit(f"{text}: {(folder / 'stderr').read_text()}")

    def undisturbed(self, name: str) -> Path:
        """The folder of an undisturbed run; the first call makes the run and takes its time."""
        folder = self.folder / name.replace(" ", "-")
        if name not in self.seconds:
            begin = time.monotonic()
            self.succeed(CASES[name].words, folder)
            self.seconds[name] = time.monotonic() - begin
        return folder

    def kill(self, name: str, number: int) -> None:
        """Kill a command once or twice, then let it finish."""
        case, expected = CASES[name], self.undisturbed(name)
        folder = self.folder / f"kill-{number}"
        text = case.words
        for _ in range(1 + (number % 3 == 0)):
            self.kill_once(name, text, folder, number)
            text = case.words
            if case.resume and (folder / "run" / "config.toml").exists():
                text += " " + case.resume
        process = self.start(text, folder)
        if process.wait(SECONDS) != 0:
            self.fault(name, number, f"does not resume: {(folder / 'stderr').read_text()[-500:]}")
            return
        for output in case.outputs:
            if (folder / output).read_bytes() != (expected / output).read_bytes():
                self.fault(name, number, f"{output} differs")
        self.check_temporary(name, number, folder)
        shutil.rmtree(folder)

    def kill_once(self, name: str, text: str, folder: Path, number: int) -> None:
        sent = self.random.choice(SIGNALS)
        after = self.random.uniform(0, self.seconds[name])
        before = temporary_files(folder)  # of a run that was killed by SIGKILL
        process = self.start(text, folder)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(after)
        process.send_signal(sent)
        try:
            code = process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            self.fault(name, number, f"{sent.name} after {after:.2f} s does not end it")
            return
        self.codes[f"{sent.name}: {code}"] += 1
        error = (folder / "stderr").read_text(errors="replace")
        # Before the first line of ours runs, the interpreter itself answers a signal.
        allowed = {0, -sent, 128 + sent, 1 if "KeyboardInterrupt" in error else 0}
        if code not in allowed or (code != 1 and len(error.splitlines()) > 20):
            self.fault(
                name, number, f"{sent.name} after {after:.2f} s: code {code}, {error[-300:]}"
            )
        if code == 1:
            self.codes["of these with a traceback of the interpreter's start"] += 1
            if "hopefear" in error.replace(sys.prefix, ""):
                self.fault(name, number, f"{sent.name} after {after:.2f} s: {error[-500:]}")
        left = processes_left()
        if left:
            self.fault(name, number, f"{sent.name} after {after:.2f} s leaves {left}")
        if code not in (-signal.SIGKILL, -sent):
            self.check_temporary(name, number, folder, before)

    def check_temporary(
        self, name: str, number: int, folder: Path, before: Collection[Path] = ()
    ) -> None:
        files = [str(path) for path in temporary_files(folder) if path not in before]
        if files:
            self.fault(name, number, f"temporary files are left: {files}")

    def fault(self, name: str, number: int, text: str) -> None:
        self.faults.append(f"{name}, kill {number}: {text}")
        print(f"fault: {self.faults[-1]}", flush=True)


def temporary_files(folder: Path) -> list[Path]:
    """The temporary files of a run."""
    if not folder.is_dir():
        return []
    files = [path for path in folder.rglob("*") if path.suffix == ".tmp"]
    files += [path for path in folder.glob("tmp/*") if path not in files]
    return files + list(folder.glob("model/work/tmp-*"))


def processes_left() -> list[str]:
    """Descriptions of processes of this script that still run after a short while."""
    mark = f"{MARK}={os.getpid()}".encode()
    left: list[str] = []
    for _ in range(100):
        left = []
        for folder in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if folder.name.isdigit() and mark in (folder / "environ").read_bytes().split(b"\0"):
                    left.append((folder / "cmdline").read_bytes().decode(errors="replace"))
        if not left:
            return left
        time.sleep(0.05)
    return left


def main() -> int:
    """Run the kills; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--work", type=Path, help="directory of the runs, kept")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        if options.work is None:
            work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kills-")))
        else:
            work = options.work
            work.mkdir(parents=True, exist_ok=True)
        kills = Kills(work.resolve(), options.seed)
        kills.prepare()
        done: Counter[str] = Counter()
        for number in range(options.kills):
            name = options.only[number % len(options.only)]
            kills.kill(name, number)
            done[name] += 1
    for name, count in done.items():
        print(f"{name:<14} {count:>4} kills, {kills.seconds[name]:.1f} s undisturbed")
    for label, count in sorted(kills.codes.items()):
        print(f"{label}: {count}")
    print(f"{options.kills} commands killed, {len(kills.faults)} faults")
    return 1 if kills.faults else 0


if __name__ == "__main__":
    sys.exit(main())
