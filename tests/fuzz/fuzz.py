"""Throw damaged files at every reader: `make fuzz`, or `python tests/fuzz/fuzz.py --help`.

Whatever a file has in it, reading it must end well or with a `HopefearError` or `OSError` whose
message is one line: no other exception, no crash, no hang, no great amount of memory. Each reader
runs in a process of its own, that may have 1 GB more than it starts with; one that crashes or
hangs is started again behind the input that did it. The inputs depend on nothing but the seed, the
reader and their number. What fails is written to a folder, shortened as far as it still fails.

With `--log FILE` a run that was stopped goes on where it was: the file has a line for every 25,000
inputs that were read. Inputs that failed are read again first, and are forgotten if they
no longer fail. `--table` prints what a log has. It holds while samples and mutations are the same:
a reader whose samples or mutations changed begins anew.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import mmap
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from fuzz_mutate import case

MEMORY = 1 << 30
_COUNTER = struct.Struct("<qq")  # the input that is being read, and whether any was yet
_START = 300.0  # seconds that a process has before its first input


@dataclass
class Failure:
    """An input that ended as none may."""

    reader: str
    number: int
    what: str
    where: str = ""  # for equal ones to be told


def judge(read: Callable[[Path], Any], path: Path) -> tuple[str, str]:
    """What is wrong with how reading a file ends, and where; nothing if it is well."""
    from hopefear.base.errors import LONGEST, HopefearError

    try:
        read(path)
    except HopefearError as error:
        text = str(error)
        if "\n" in text or not text or len(text) > LONGEST + 10:
            return f"message of {len(text)} characters: {text[:200]!r}", "message"
    except OSError as error:
        if "\n" in str(error):
            return f"message: {str(error)[:200]!r}", "message"
    except Exception as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if "hopefear" in f.filename]
        place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
        return f"{type(error).__name__}: {str(error)[:200]!r} at {place}", place
    return "", ""


# -- the process that reads --


def work(arguments: argparse.Namespace) -> None:
    """Read inputs from a number on; counts in a shared file, writes failures as JSON lines."""
    from fuzz_readers import READERS

    reader = READERS[arguments.reader]
    warnings.simplefilter("ignore")
    folder = Path(arguments.folder)
    samples = reader.samples(folder)
    path = folder / reader.file
    path.parent.mkdir(exist_ok=True)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with open(arguments.counter, "r+b") as file:  # noqa: PTH123
        counter = mmap.mmap(file.fileno(), _COUNTER.size)
    gc.freeze()  # what is there now stays
    end = time.monotonic() + arguments.seconds
    numbers = range(arguments.first, arguments.inputs)
    for number in arguments.only or numbers:
        if number < arguments.first:
            continue
        counter[:] = _COUNTER.pack(number, 1)
        seed = f"{arguments.seed} {arguments.reader} {number}"
        _write(path, case(samples, seed, binary=reader.binary))
        what, where = judge(reader.read, path)
        if what:
            print(json.dumps([number, what, where]), flush=True)
        if time.monotonic() > end:
            break
    counter[:] = _COUNTER.pack(number + 1, 1)
    os._exit(0)  # the end of an interpreter may take long on a busy machine


def _write(path: Path, data: bytes) -> None:
    """As `write_bytes`, in a fifth of the time."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.write(descriptor, data)
    os.close(descriptor)


def check_file(arguments: argparse.Namespace) -> None:
    """Read one file as it is, and say what is wrong; for shortening."""
    from fuzz_readers import READERS

    reader = READERS[arguments.reader]
    warnings.simplefilter("ignore")
    folder = Path(arguments.folder)
    reader.samples(folder)
    path = folder / reader.file
    path.parent.mkdir(exist_ok=True)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    for line in sys.stdin:
        path.write_bytes(Path(line.rstrip("\n")).read_bytes())
        print(json.dumps(judge(reader.read, path)), flush=True)


# -- the process that watches --


def fuzz(
    reader: str,
    *,
    inputs: int,
    seed: int,
    first: int = 0,
    seconds: float = 1e9,
    limit: float = 30.0,
    only: Sequence[int] = (),
) -> tuple[int, float, list[Failure]]:
    """The number behind the last input that was read, the processor's seconds, and what failed.

    `only`: these inputs, ascending, and no others.
    """
    failures: list[Failure] = []
    cpu = 0.0
    end = time.monotonic() + seconds
    while first < inputs and time.monotonic() < end:
        with tempfile.TemporaryDirectory(prefix="fuzz.", dir=memory_folder()) as folder:
            counter = Path(folder) / "counter"
            counter.write_bytes(_COUNTER.pack(first, 0))
            words = ["--reader", reader, "--first", first, "--inputs", inputs, "--seed", seed]
            words += ["--seconds", end - time.monotonic(), "--counter", counter, "--folder", folder]
            words += ["--only", *only] if only else []
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            output, errors = Path(folder) / "output", Path(folder) / "errors"
            with output.open("w") as stdout, errors.open("w") as stderr:
                command = [sys.executable, __file__, "work", *map(str, words)]
                process = subprocess.Popen(command, stdout=stdout, stderr=stderr)
                try:
                    hung = watch(process, counter, limit)
                finally:  # this one was told to stop
                    process.kill()
                    process.wait()
            last = errors.read_text(errors="replace")[-300:].strip()
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu += after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            for line in output.read_text().splitlines():
                failures.append(Failure(reader, *json.loads(line)))
            number, begun = _COUNTER.unpack(counter.read_bytes())
        if hung:
            failures.append(Failure(reader, number, f"no end after {limit:g} seconds", "hang"))
        elif process.returncode != 0:
            name = process.returncode
            known = {int(one): one.name for one in signal.Signals}
            what = f"ended by {known.get(-name, name)}: {last!r}"
            failures.append(Failure(reader, number, what, f"crash {name}"))
            if not begun and name > 0:
                break  # it did not even begin
        else:
            return number, cpu, failures
        first = number + 1
    return first, cpu, failures


def watch(process: subprocess.Popen[bytes], counter: Path, limit: float) -> bool:
    """Wait for its end; whether one input took too long, of which it was relieved."""
    seen, since, used = b"", 0.0, 0.0
    while process.poll() is None:
        time.sleep(0.05)
        now = counter.read_bytes()
        if now != seen:
            seen, since, used = now, time.monotonic(), _cpu_seconds(process.pid)[0]
            continue
        most = limit if _COUNTER.unpack(now)[1] else _START
        if time.monotonic() - since > most:
            # On a busy machine time goes by; it hangs if it works that long, or waits.
            cpu, waits = _cpu_seconds(process.pid)
            if waits or cpu - used > most:
                process.kill()
                process.wait()
                return True
    return False


def _cpu_seconds(pid: int) -> tuple[float, bool]:
    """The processor's time that a process has had, and whether it waits for something else."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has ended
        return 0.0, False
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), fields[0] in "SD"


def memory_folder() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


# -- what failed --


def shorten(reader: str, data: bytes, wanted: str, *, rounds: int = 400) -> bytes:
    """A shorter input that fails in the same place, by leaving out pieces."""
    with tempfile.TemporaryDirectory(prefix="fuzz.", dir=memory_folder()) as folder:
        checker = _Checker(reader, Path(folder))
        size = max(1, len(data) // 2)
        while size and rounds > 0:
            at = 0
            while at < len(data) and rounds > 0:
                shorter = data[:at] + data[at + size :]
                rounds -= 1
                if checker.where(shorter) == wanted:
                    data = shorter
                else:
                    at += size
            size //= 2
        checker.close()
    return data


class _Checker:
    """A process that says of inputs where they fail; again after a crash."""

    def __init__(self, reader: str, folder: Path) -> None:
        self.reader, self.folder, self.process = reader, folder, self._start(reader, folder)

    def _start(self, reader: str, folder: Path) -> subprocess.Popen[str]:
        words = ["check", "--reader", reader, "--folder", str(folder)]
        return subprocess.Popen(
            [sys.executable, __file__, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def where(self, data: bytes) -> str:
        path = self.folder / "shortened"
        path.write_bytes(data)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{path}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if answer:
            return str(json.loads(answer)[1])
        code = self.process.wait()
        self.process = self._start(self.reader, self.folder)
        return f"crash {code}"

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def report(failures: Iterable[Failure], seed: int, keep: Path) -> Iterator[str]:
    """One line for each place where something failed, and its input in a file."""
    seen: dict[tuple[str, str], int] = {}
    for failure in failures:
        key = (failure.reader, failure.where)
        seen[key] = seen.get(key, 0) + 1
        if seen[key] > 1:
            continue
        data = input_of(failure, seed)
        if failure.where not in ("hang", "message"):
            data = shorten(failure.reader, data, failure.where)
        keep.mkdir(parents=True, exist_ok=True)
        path = keep / f"{failure.reader.replace('/', '-')}.{failure.number}"
        path.write_bytes(data)
        yield f"{failure.reader} {failure.number}: {failure.what}\n    {len(data)} bytes: {path}"
    for (reader, where), count in seen.items():
        if count > 1:
            yield f"{reader}: {count} times at {where}"


def input_of(failure: Failure, seed: int) -> bytes:
    from fuzz_readers import READERS

    reader = READERS[failure.reader]
    with tempfile.TemporaryDirectory(prefix="fuzz.", dir=memory_folder()) as folder:
        samples = reader.samples(Path(folder))
    text = f"{seed} {failure.reader} {failure.number}"
    return case(samples, text, binary=reader.binary)


# -- a run that can be stopped --


class Log:
    """What was read of which reader, in lines of JSON; without a file, of this run only."""

    def __init__(self, path: Path | None, seed: int) -> None:
        self.path, self.seed = path, seed
        self.lines: list[dict[str, Any]] = []
        if path is not None and path.is_file():
            self.lines = [json.loads(line) for line in path.read_text().splitlines()]

    def add(self, reader: str, digest: str, inputs: int, cpu: float, failed: list[Failure]) -> None:
        line = {
            "reader": reader,
            "seed": self.seed,
            "samples": digest,
            "inputs": inputs,
            "seconds": round(cpu, 2),
            "failed": [[one.number, one.what, one.where] for one in failed],
        }
        self.lines.append(line)
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a") as file:
                file.write(json.dumps(line) + "\n")

    def state(self, reader: str, digest: str | None = None) -> tuple[int, float, list[Failure]]:
        """How many inputs of a reader were read, in how many seconds, and which failed last."""
        of_reader = [line for line in self.lines if line["reader"] == reader]
        if of_reader and digest is None:
            digest = of_reader[-1]["samples"]
        mine = [x for x in of_reader if (x["seed"], x["samples"]) == (self.seed, digest)]
        if not mine:
            return 0, 0.0, []
        failed = [Failure(reader, *one) for one in mine[-1]["failed"]]
        return mine[-1]["inputs"], sum(line["seconds"] for line in mine), failed

    def table(self) -> Iterator[str]:
        """Markdown: readers, inputs and what failed, by kind."""
        yield "| reader | inputs | seconds | exceptions | crashes | hangs |"
        yield "| --- | ---: | ---: | ---: | ---: | ---: |"
        sums = [0.0] * 5
        for reader in dict.fromkeys(line["reader"] for line in self.lines):
            count, cpu, failed = self.state(reader)
            crashes = sum(one.where.startswith("crash") for one in failed)
            hangs = sum(one.where == "hang" for one in failed)
            row = [count, cpu, len(failed) - crashes - hangs, crashes, hangs]
            sums = [a + b for a, b in zip(sums, row, strict=True)]
            yield f"| {reader} | " + " | ".join(f"{value:,.0f}" for value in row) + " |"
        yield "| all | " + " | ".join(f"{value:,.0f}" for value in sums) + " |"


_STRETCH = 25_000  # inputs between two lines of the log, and of a process


def digest_of(reader: str) -> str:
    """A fingerprint of samples and mutations, by what they make of some seeds."""
    from fuzz_readers import READERS

    of = READERS[reader]
    with tempfile.TemporaryDirectory(prefix="fuzz.", dir=memory_folder()) as folder:
        samples = of.samples(Path(folder))
    some = (case(samples, f"{reader} {number}", binary=of.binary) for number in range(500))
    return hashlib.sha256(b"".join(map(bytes, some))).hexdigest()[:16]


def run(reader: str, log: Log, given: argparse.Namespace) -> tuple[int, float, list[Failure]]:
    """Read what the log does not have yet; as `fuzz`, with what it has."""
    digest = digest_of(reader)
    count, _, failed = log.state(reader, digest)
    end = time.monotonic() + given.seconds
    if failed:
        only = sorted({one.number for one in failed})
        _, cpu, failed = fuzz(reader, inputs=count, seed=given.seed, limit=given.limit, only=only)
        log.add(reader, digest, count, cpu, failed)
    while count < given.inputs and time.monotonic() < end:
        until = min(given.inputs, count + _STRETCH)
        reached, cpu, new = fuzz(
            reader,
            inputs=until,
            seed=given.seed,
            first=count,
            seconds=end - time.monotonic(),
            limit=given.limit,
        )
        failed = [*failed, *new]
        log.add(reader, digest, reached, cpu, failed)
        if reached == count:
            break  # it does not even begin
        count = reached
    return log.state(reader, digest)


def main() -> int:
    parser = argparse.ArgumentParser(description="Throw damaged files at every reader.")
    parser.add_argument("readers", nargs="*", help="which; all if none is named")
    parser.add_argument("--inputs", type=int, default=100_000, help="for each reader")
    parser.add_argument("--seconds", type=float, default=1e9, help="at most, for each reader")
    parser.add_argument("--total", type=float, help="seconds for all readers together")
    parser.add_argument("--limit", type=float, default=30.0, help="seconds that one may take")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"), help="for what fails")
    parser.add_argument("--log", type=Path, help="go on from this file, and write it")
    parser.add_argument("--table", action="store_true", help="print what the log has, no more")
    given = parser.parse_args()
    from fuzz_readers import READERS

    for name in given.readers:
        if name not in READERS:
            parser.error(f"unknown reader {name!r}; there are {', '.join(READERS)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    log = Log(given.log, given.seed)
    if given.table:
        print(*log.table(), sep="\n")
        return 0
    shutil.rmtree(given.keep, ignore_errors=True)
    total, spent, wrong = 0, 0.0, 0
    names = given.readers or list(READERS)
    end = time.monotonic() + (given.total or 0)
    for number, name in enumerate(names):
        if given.total is not None:
            given.seconds = max(0.1, (end - time.monotonic()) / (len(names) - number))
        count, cpu, failures = run(name, log, given)
        total, spent, wrong = total + count, spent + cpu, wrong + len(failures)
        print(
            f"{name:24} {count:9,} inputs  {cpu:7.1f} s  {len(failures):5} failed",
            flush=True,
        )
        for line in report(failures, given.seed, given.keep):
            print(f"  {line}", flush=True)
    print(f"{'all':24} {total:9,} inputs  {spent:7.1f} s  {wrong:5} failed")
    return 1 if wrong else 0


def _inner(mode: str, words: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--reader")
    parser.add_argument("--folder")
    parser.add_argument("--counter")
    for name in ("--first", "--inputs", "--seed"):
        parser.add_argument(name, type=int)
    parser.add_argument("--only", type=int, nargs="+")
    parser.add_argument("--seconds", type=float)
    given = parser.parse_args(words)
    (work if mode == "work" else check_file)(given)


if __name__ == "__main__":
    if sys.argv[1:2] in (["work"], ["check"]):
        _inner(sys.argv[1], sys.argv[2:])
    else:
        sys.exit(main())
