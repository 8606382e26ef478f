"""All benchmarks, each in a process of its own, small; one table with the budgets.

    python bench                    what `make bench` does
    python bench decode lm_query    some of them

The full table of one: python bench/decode.py. In the first run models are trained, which are kept.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from support.figures import figure_table, quick_rows

FOLDER = Path(__file__).resolve().parent
NAMES = sorted(path.stem for path in FOLDER.glob("[!_]*.py"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}")
    names = parser.parse_args().names or NAMES
    if wrong := [name for name in names if name not in NAMES]:
        parser.error(f"no benchmark {wrong[0]}; there are {', '.join(NAMES)}")
    every: list[tuple[str, ...]] = [("benchmark", "figure", "value", "budget", "", "s")]
    for name in names:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            rows, seconds = pool.submit(quick_rows, name).result()
        print(f"{name}: {seconds:.0f} s", flush=True)
        every += [
            (name if at == 0 else "", *row, f"{seconds:.0f}" if at == 0 else "")
            for at, row in enumerate(rows)
        ]
    print("\n" + figure_table(every))


if __name__ == "__main__":
    main()
