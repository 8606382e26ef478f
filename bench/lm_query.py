"""Language-model queries beside the kenlm module, from the same ARPA file, each in its own process.

Budgets: 100,000 sentences at least as fast as kenlm, in at most 1.3 times its memory; 3 million
tokens/s or more per core in 'hopefear lm perplexity', tokenising and look-up included. CPU seconds
of the best of some runs; a child of its own measures every row. The peak is that of loading; a
compiled model is mapped, so it has only what the check of the file touched.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from support.machine import SHARED


def cpu() -> float:
    return time.process_time()


def status(field: str) -> int:
    """A line of /proc/self/status, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise KeyError(field)


def reset_peak() -> int:
    """Forget the peak so far (also the parent's, which a child inherits); memory in use now."""
    Path("/proc/self/clear_refs").write_text("5")
    return status("VmRSS")


def measure(kind: str, model: str, text: str, repeat: int) -> dict[str, float]:
    """One row: load the model, score the lines. Runs in the child."""
    if kind == "kenlm":
        import kenlm

        config = kenlm.Config()
        config.show_progress = False
        before, start = reset_peak(), cpu()
        lm = kenlm.Model(model, config)
    else:
        from hopefear.lm import LanguageModel

        before, start = reset_peak(), cpu()
        lm = LanguageModel.load(model)
    loaded = cpu() - start
    peak = status("VmHWM") - before
    lines = Path(text).read_text(encoding="utf-8").splitlines()
    tokens = sum(len(line.split()) + 1 for line in lines)
    best = float("inf")
    for _ in range(repeat):
        start = cpu()
        if kind == "file":
            total = lm.score_text(text).log10_prob
        else:
            score = lm.score
            total = sum(score(line) for line in lines)
        best = min(best, cpu() - start)
    # A loop that only splits and joins: what Python itself costs per sentence.
    start = cpu()
    for line in lines:
        line.encode().split()
    return {
        "load": loaded,
        "peak": max(peak, 1),
        "score": best,
        "tokens": tokens,
        "total": total,
        "python": cpu() - start,
    }


def child(*arguments: str) -> dict[str, float]:
    command = [sys.executable, __file__, "--measure", *arguments]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(out.splitlines()[-1])


def command_line(model: str, text: str, repeat: int) -> tuple[float, float, int]:
    """CPU seconds of the whole 'lm perplexity' process, and of starting it for nothing."""
    base = [sys.executable, "-m", "hopefear", "lm", "perplexity", model]

    def run(path: str) -> tuple[float, int]:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        words = [*base, path, "--json", "--progress", "off"]
        out = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return seconds, json.loads(out)["tokens"]

    one_line = str(Path(text).with_suffix(".one"))
    Path(one_line).write_text("a\n")
    runs = [run(text) for _ in range(repeat)]
    return min(s for s, _ in runs), min(run(one_line)[0] for _ in range(repeat)), runs[0][1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--sentences", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--lm", type=Path, action="append", help="ARPA files instead of the golden")
    parser.add_argument("--text", type=Path, action="append", help="texts instead of the golden")
    arguments = parser.parse_args()
    if arguments.measure:
        kind, model, text, repeat = arguments.measure
        print(json.dumps(measure(kind, model, text, int(repeat))))
        return
    golden = SHARED / "golden"
    models = arguments.lm or [golden / "lm3.arpa.gz", golden / "lm" / "en3000.o5.arpa.gz"]
    texts = arguments.text or [
        golden / "aligned" / pair / "train.en.gz" for pair in ("fr-en", "zh-en")
    ]
    absent = [str(path) for path in [*models, *texts] if not path.exists()]
    if absent:
        print(f"data absent: {', '.join(absent)}; set HOPEFEAR_SHARED")
        return
    with tempfile.TemporaryDirectory() as folder:
        for model in models:
            arpa, compiled = Path(folder) / "lm.arpa", Path(folder) / "lm.bin"
            arpa.write_bytes(content(model))
            from hopefear.lm import LanguageModel

            LanguageModel.load(arpa).compile(compiled)
            print(f"{model.name}: compiled {compiled.stat().st_size / 2**20:.1f} MB")
            for source in texts:
                text = Path(folder) / "text"
                lines = content(source).splitlines(keepends=True)
                times = -(-arguments.sentences // len(lines))
                text.write_bytes(b"".join((lines * times)[: arguments.sentences]))
                compare(source, str(arpa), str(compiled), str(text), arguments.repeat)


def content(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.name.endswith(".gz") else data


def compare(source: Path, arpa: str, compiled: str, text: str, repeat: int) -> None:
    rows = {
        "kenlm, loop of score(line)": child("kenlm", arpa, text, str(repeat)),
        "ours, loop of score(line)": child("loop", arpa, text, str(repeat)),
        "ours, score_text(file)": child("file", arpa, text, str(repeat)),
        "ours, compiled, score_text": child("file", compiled, text, str(repeat)),
    }
    theirs = rows["kenlm, loop of score(line)"]
    print(f"\n{source.parent.name}/{source.name}: {theirs['tokens']:,.0f} tokens")
    columns = ("score s", "M tok/s", "x kenlm", "peak MB", "x kenlm")
    print(f"{'':28}{'load s':>8}" + "".join(f"{column:>9}" for column in columns))
    for name, row in rows.items():
        print(
            f"{name:28}{row['load']:8.3f}{row['score']:9.3f}"
            f"{row['tokens'] / row['score'] / 1e6:9.1f}{theirs['score'] / row['score']:9.2f}"
            f"{row['peak'] / 2**20:9.1f}{row['peak'] / theirs['peak']:9.2f}"
        )
        assert abs(row["total"] / theirs["total"] - 1) < 1e-5, "the totals differ"
    print(f"(encoding and splitting the lines in Python alone: {theirs['python']:.3f} s)")
    whole, start, tokens = command_line(compiled, text, repeat)
    print(
        f"hopefear lm perplexity: {whole:.3f} s, {start:.3f} of them to start; "
        f"{tokens / whole / 1e6:.1f} M tokens/s, without starting "
        f"{tokens / max(whole - start, 1e-3) / 1e6:.1f}"
    )


if __name__ == "__main__":
    main()
