"""A Ray cluster of three machines, imitated on this one: three nodes of a core each.

One is started by each process that runs tests of this folder. Ray keeps what it writes in a folder
of its own, so that no other test and no command of the user finds this cluster.
"""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hopefear.base.cluster.executor import ClusterExecutor

TESTS = Path(__file__).resolve().parents[1]


class Machines:
    """The nodes of the cluster."""

    def __init__(self, folder: str) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("RAY_TMPDIR", folder)
            from ray.cluster_utils import Cluster

            self.cluster: Any = Cluster()
            self.add(), self.add(), self.add()
            (Path(folder) / "ray" / "ray_current_cluster").unlink()
        self.address: str = self.cluster.address

    def add(self) -> Any:
        """Start a node; return it."""
        return self.cluster.add_node(
            num_cpus=1, include_dashboard=False, object_store_memory=100 << 20
        )

    def not_first(self) -> Any:
        """Return a node that no driver is connected to."""
        return next(iter(self.cluster.worker_nodes))

    def kill(self, node: Any) -> None:
        """Kill all processes of a node, as if its power had gone."""
        self.cluster.remove_node(node, allow_graceful=False)


@pytest.fixture(scope="session")
def machines() -> Iterator[Machines]:
    """The cluster; the process that runs the tests is connected to it."""
    if not _has_ray():
        pytest.skip("RAY ABSENT: nothing of --cluster is tested; pip install 'hopefear[cluster]'")
    from hopefear.base.cluster.connect import load_ray

    ray = load_ray()
    folder = tempfile.mkdtemp(prefix="hf-ray-", dir="/tmp")  # sockets have short paths
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setenv("PYTHONPATH", str(TESTS))  # workers import the jobs
        patch.setenv("RAY_AUTH_MODE", "disabled")
        started = Machines(folder)
        ray.init(address=started.address, log_to_driver=False, logging_level="critical")
        yield started
        ray.shutdown()
        started.cluster.shutdown()
    shutil.rmtree(folder, ignore_errors=True)


def _has_ray() -> bool:
    try:
        import ray  # noqa: F401
    except ImportError:
        return False
    return True


@pytest.fixture(scope="module")
def executor(machines: Machines) -> Iterator[ClusterExecutor]:
    """An executor with a worker on each machine."""
    with ClusterExecutor(machines.address, workers=3) as started:
        yield started


@pytest.fixture
def count() -> tuple[list[int], Callable[[int], None]]:
    """The calls of a progress bar, and the function for `advance`."""
    calls: list[int] = []
    return calls, calls.append
