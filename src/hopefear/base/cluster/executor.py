"""The executor of a Ray cluster.  [moritz2018ray]

    with ClusterExecutor("10.0.0.1:6379", workers=64) as executor:
        for translated in executor.map(job, lines): ...

The process of the command, the driver, creates workers: processes of one core each, on any machine
of the cluster (`worker.py`, `crew.py`). A job is stored once in the cluster's memory, from where
each machine fetches it once; items and results travel in chunks (`call.py`).

Workers may die at any time, with their machine or by themselves. Chunks that were sent to them are
then sent to others, and a new worker takes the place of the dead one where there is a free core. As
results depend on nothing but the job and the item, they are the same. An item that three workers in
a row did not survive is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from hopefear.base.cluster.connect import connect, load_ray
from hopefear.base.executor import Executor, Job, Resources
from hopefear.base.threads import all_cores

A = TypeVar("A")
B = TypeVar("B")


class ClusterExecutor(Executor):
    """Runs jobs on the workers of a Ray cluster."""

    remote = True

    def __init__(
        self,
        address: str,
        *,
        workers: int = 0,
        shared_folder: Path | None = None,
        threads: int = 0,
        plugins: Sequence[Path] = (),
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        """Connect to the cluster at an address ("auto": see `ClusterOptions`); start workers.

        `workers`: their number (0: the cores of the cluster); `threads`: of this process.
        """
        self.threads = threads or all_cores()
        self.resources = Resources()
        self._busy = False
        self._ray = load_ray()
        from hopefear.base.cluster.call import Places, Traffic
        from hopefear.base.cluster.crew import Crew

        self.traffic = Traffic()  #: of all calls so far
        self._places: dict[type, Places] = {}
        contents = [(str(path.absolute()), path.read_bytes()) for path in plugins]
        self._connection = connect(address, workers or all_cores())
        try:
            self.crew = Crew(
                self._ray,
                workers,
                shared=None if shared_folder is None else str(shared_folder.absolute()),
                plugins=contents,
                tell=tell,
            )
            self.crew.start()
        except BaseException:
            self.close()
            raise

    @property
    def workers(self) -> int:
        return self.crew.wanted

    @property
    def cpu_seconds(self) -> float:  # type: ignore[override]
        return self.traffic.cpu_seconds

    def map(
        self,
        job: Job[A, B],
        items: Iterable[A],
        *,
        place: Callable[[A], int] | None = None,
        refill: Callable[[A], A] | None = None,
        advance: Callable[[int], None] | None = None,
    ) -> Iterator[B]:
        from hopefear.base.cluster.call import Call, Places
        from hopefear.base.cluster.source import Source

        if self._busy:
            raise RuntimeError("a cluster runs one call of map at a time")
        self._busy = True
        source, call, gently = Source(items), None, True
        try:
            call = Call(
                self._ray,
                self.crew,
                self.traffic,
                job,
                source,
                places=self._places.setdefault(type(job), Places()),
                place=place,
                refill=refill,
                advance=advance,
            )
            yield from call.run()
        except (KeyboardInterrupt, SystemExit):
            gently = False
            raise
        finally:
            self._busy = False
            if call is not None:
                call.close(gently)
            source.close()

    def close(self) -> None:
        """End all workers, and the connection."""
        try:
            if "crew" in self.__dict__:
                self.crew.close()
        finally:
            self._connection.close()
