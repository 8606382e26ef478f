"""Options of running on a cluster, in a module without heavy imports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hopefear.base.config import option
from hopefear.base.errors import OptionError
from hopefear.base.executor import Executor, Threads


@dataclass(kw_only=True)
class ClusterOptions:
    """Where the work of a command runs; changes no result."""

    cluster: str | None = option(
        None,
        metavar="ADDRESS",
        help="Ray cluster to run on, as HOST:PORT; auto: the one that is running, else one of this "
        "machine's cores (pip install 'hopefear[cluster]'); does not change the result",
    )
    workers: int = option(
        0, min=0, max=100_000, help="processes on the cluster, each on a core (0: on all its cores)"
    )
    shared_folder: Path | None = option(
        None,
        metavar="DIR",
        help="folder on every machine of the cluster for copies of the files that a machine does "
        "not find at their own path; needed where the machines share no file system",
    )

    def check_cluster(self) -> None:
        """Raise an `OptionError` for options that have no effect without a cluster."""
        if self.cluster is not None:
            return
        for flag, given in (("--workers", self.workers), ("--shared-folder", self.shared_folder)):
            if given:
                raise OptionError(f"{flag}: only with --cluster; give that, too, or leave it out")

    def executor(
        self,
        threads: int,
        *,
        plugins: Sequence[Path] = (),
        tell: Callable[[str], None] = lambda text: None,
    ) -> Executor:
        """Return the executor that the options describe; `threads` of this process (0: all cores).

        `plugins`: files that each process of a cluster loads; `tell`: called with messages.
        """
        self.check_cluster()
        if self.cluster is None:
            return Threads(threads)
        from hopefear.base.cluster.executor import ClusterExecutor

        return ClusterExecutor(
            self.cluster,
            workers=self.workers,
            shared_folder=self.shared_folder,
            threads=threads,
            plugins=plugins,
            tell=tell,
        )
