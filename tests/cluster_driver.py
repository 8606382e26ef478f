"""A command that runs on a cluster, for tests that send it signals.

python cluster_driver.py ADDRESS FOLDER endless | dies | ends
"""

from __future__ import annotations

import sys
from pathlib import Path

from cluster_jobs import Endless, Kills, Square

from hopefear.base.cluster.options import ClusterOptions
from hopefear.base.errors import HopefearError
from hopefear.cli.main import _handle_signals


def run(address: str, folder: Path, what: str) -> None:
    with ClusterOptions(cluster=address, workers=2).executor(1) as executor:
        (folder / "connected").touch()
        if what == "endless":
            list(executor.map(Endless(folder), range(9)))
        elif what == "dies":
            assert len(list(executor.map(Kills(frozenset([3, 9]), folder), range(60)))) == 60
        else:
            assert list(executor.map(Square(), range(60))) == [n * n for n in range(60)]


if __name__ == "__main__":
    _handle_signals()
    try:
        run(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    except HopefearError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    print("done")
