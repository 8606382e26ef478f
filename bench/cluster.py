"""A cluster against threads: an iteration of MIRA, bytes on the way, and what large ones would do.

Bible zh-en, phrase-based, beam 30, features of rules and word pairs; one learner and two, each on a
thread and on a worker of a cluster on this machine. Budget: 1.10 times the seconds of a thread for
an iteration on 2,000 pairs. The projection takes what was measured here, a network of 10 Gb/s and
16 workers a machine to 1M and 10M pairs on up to 1,000 workers.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from hopefear._engine import ColumnSums
from support import models
from support.echo import Echo
from support.figures import Columns, Figure, main
from support.machine import FOLDER, OUT, first_lines, measured
from support.projection import Costs, power, project

from hopefear.base.cluster.executor import ClusterExecutor
from hopefear.base.executor import Job

PAIRS = 2_000
BUDGET = 1.10
LEARNERS = 2
TEMPLATES = ("rule-id", "word-pairs")


@dataclass(frozen=True)
class Iteration:
    """What the second iteration of a run cost; the first one opens the model."""

    seconds: float
    cpu: float  # seconds, of all processes
    sent: int = 0  # bytes, of both iterations
    received: int = 0
    changed: int = 0  # features, of each learner in the last pass, on average


def iteration(model: Path, train: list[Path], learners: int, cluster: str | None) -> Iteration:
    """Run two iterations of MIRA; for a process of its own (`measured`)."""
    import hopefear.base.cluster.executor as module
    from hopefear.learn.loop import mixing

    seen: list[ClusterExecutor] = []
    changed: list[int] = []

    class Kept(ClusterExecutor):
        def close(self) -> None:
            seen.append(self)
            super().close()

    class Counted(mixing.Mixture):
        def add(self, p: Any) -> None:
            changed.append(len(p.ids))
            super().add(p)

    module.ClusterExecutor = Kept  # type: ignore[misc]
    import hopefear.learn.loop.online as online

    online.Mixture = Counted  # type: ignore[misc]
    cpu: list[float] = []
    learn = online.OnlineLoop._learn

    def timed(self: Any) -> Any:
        begin = time.process_time() + self.executor.cpu_seconds
        result = learn(self)
        cpu.append(time.process_time() + self.executor.cpu_seconds - begin)
        return result

    online.OnlineLoop._learn = timed  # type: ignore[method-assign]
    text, references = models.bible_dev(10)  # hardly anything: not what is measured
    with tempfile.TemporaryDirectory(dir=OUT) as folder:
        record = models.tune(
            model, dev=text, refs=list(zip(*references, strict=True)), tuner="mira",
            tuner_options={"learners": learners}, train=train, output=Path(folder) / "run",
            tokenized=True, beam=30, pop_limit=60, iterations=2, threads=learners,
            templates=list(TEMPLATES), cluster=cluster, workers=learners if cluster else 0,
        )  # fmt: skip
    traffic = [executor.traffic for executor in seen]
    return Iteration(
        record["optimise_seconds"],
        cpu[-1],
        sum(t.bytes_sent for t in traffic),
        sum(t.bytes_received for t in traffic),
        int(np.mean(changed[-learners:])),
    )


def texts(pairs: int) -> list[Path]:
    folder = OUT / f"zh-en-{models.QUICK}"
    models.bible_text(models.QUICK)
    return [
        first_lines(folder / name, pairs, folder / f"{name}.{pairs}")
        for name in ("train.zh", "train.en")
    ]


def compare(pairs: int, learners: int, repeat: int) -> tuple[Iteration, Iteration]:
    """The cheapest iteration on threads, and on the cluster, taken in turns."""
    model = models.bible(pairs=models.QUICK)
    runs: dict[str | None, list[Iteration]] = {None: [], "auto": []}
    for _ in range(repeat):
        for cluster, done in runs.items():
            done.append(measured(iteration, model, texts(pairs), learners, cluster).result)
    first, second = (min(done, key=lambda one: one.cpu) for done in runs.values())
    return first, second


def transport() -> dict[str, float]:
    """Seconds of the driver for a chunk, for a byte that it receives, and for one that it sends."""
    os.environ["PYTHONPATH"] = str(FOLDER / "bench")  # of the workers
    with ClusterExecutor("auto", workers=LEARNERS) as executor:

        def seconds(job: Job[int, Any], items: int) -> float:
            begin = time.perf_counter()
            for _ in executor.map(job, range(items), place=lambda n: n):  # a chunk for each
                pass
            return time.perf_counter() - begin

        for job in (Echo(), Echo(1 << 20)):
            seconds(job, 50)
        nothing = min(seconds(Echo(), 2 * LEARNERS) for _ in range(5))
        many, size = 1000, 32 << 20
        chunk = (seconds(Echo(), many) - nothing) / many
        receive = min(seconds(Echo(size), LEARNERS) for _ in range(3)) - nothing
        own = np.zeros(size, np.uint8)
        send = min(seconds(Echo(own=own), LEARNERS) for _ in range(3)) - nothing
    return {"chunk": chunk, "byte": receive / (LEARNERS * size), "sent byte": send / size}


def merging(features: int = 2_000_000) -> tuple[float, float]:
    """Seconds for a changed feature that is added, and for one of the sums at the end."""
    random = np.random.default_rng(1)
    ids = np.sort(random.integers(0, 1 << 62, features, np.uint64))
    rows = random.random((features, 2))
    sums = ColumnSums(2)
    sums.add(ids, rows)
    begin = time.perf_counter()
    for _ in range(3):
        sums.add(ids, rows)
    added = (time.perf_counter() - begin) / (3 * features)
    begin = time.perf_counter()
    sums.sorted()
    return added, (time.perf_counter() - begin) / features


def run(quick: bool) -> list[Figure]:
    pairs = 300 if quick else PAIRS
    threads, cluster = compare(pairs, 1, 1 if quick else 3)
    cost = transport()
    added, _ = merging(200_000 if quick else 2_000_000)
    name = f"MIRA on {pairs:,} pairs, cluster against a thread"
    most = None if quick else BUDGET
    return [
        Figure(name, cluster.seconds / threads.seconds, "x", most=most),
        Figure("CPU of all processes", cluster.cpu / threads.cpu, "x", most=most),
        Figure("bytes of an iteration", (cluster.sent + cluster.received) / 2),
        Figure("driver's time for a chunk", 1e3 * cost["chunk"], "ms"),
        Figure("receiving", 1e-6 / cost["byte"], "MB/s"),
        Figure("merging", 1e-6 / added, "M features/s"),
    ]


def full(*, pairs: int = PAIRS, repeat: int = 3) -> None:
    print("seconds of an iteration, the cheapest of some", file=sys.stderr)
    table = Columns(
        12, "pairs", "threads s", "cluster s", "ratio", "CPU ratio", "MB sent", "MB back", "changed"
    )
    points = []
    for count, learners in ((pairs // 8, 1), (pairs, 1), (pairs, LEARNERS)):
        threads, cluster = compare(count, learners, repeat)
        table.row(
            f"{learners} learners" if learners > 1 else "1 learner",
            count, threads.seconds, cluster.seconds, cluster.seconds / threads.seconds,
            cluster.cpu / threads.cpu, cluster.sent / 2e6, cluster.received / 2e6, cluster.changed,
        )  # fmt: skip
        points.append((count / learners, cluster))
    (few, small), (many, large), _ = points
    cost, (added, mixed) = transport(), merging()
    changes = large.received / (2 * large.changed)
    costs = Costs(
        pair=large.seconds / many,
        chunk=cost["chunk"],
        byte=cost["byte"],
        merged=added,
        mixed=mixed,
        change_bytes=changes,
        weight_bytes=12.0,
        changed=power((few, many), (small.changed, large.changed)),
    )
    print(
        f"\na pair {1e3 * costs.pair:.1f} ms; a chunk {1e3 * costs.chunk:.2f} ms; receiving "
        f"{1e-6 / costs.byte:.0f} MB/s, sending {1e-6 / cost['sent byte']:.0f} MB/s; merging "
        f"{1e-6 / costs.merged:.1f} M features/s; {changes:.0f} bytes for a change; "
        f"{costs.changed[0]:.0f} * pairs^{costs.changed[1]:.2f} changes\n"
    )
    table = Columns(
        8, "workers", "pass s", "work s", "weights s", "changes s", "merge s", "bottleneck"
    )
    for count in (1_000_000, 10_000_000):
        for workers in (10, 100, 1_000):
            parts = project(costs, count, workers)
            table.row(
                f"{count // 1_000_000}M", workers, parts.seconds, parts.work, parts.weights,
                parts.changes, parts.merge + parts.chunks, parts.bottleneck,
            )  # fmt: skip
    faster = project(replace(costs, pair=costs.pair / 10), 1_000_000, 1_000)
    print(f"\n1M pairs, 1,000 workers, decoding ten times as fast: {faster.bottleneck}")


if __name__ == "__main__":
    main(__doc__, run, full)
