"""Brown clusters: seconds for 200 clusters of 500,000 tokens (budget: a minute), and of all.

    python bench/cluster.py

Text: the Bible's English and Chinese (../shared or HOPEFEAR_SHARED).
"""

from __future__ import annotations

import argparse
import tempfile
import time
from itertools import islice
from pathlib import Path

from support.machine import SHARED

from hopefear.base.files import open_input
from hopefear.text.clusters import cluster


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clusters", type=int, nargs="+", default=[50, 200, 500])
    a = parser.parse_args()
    folder = SHARED / "golden" / "aligned" / "zh-en"
    if not folder.is_dir():
        print(f"no {folder}; set HOPEFEAR_SHARED")
        return
    print(f"{'text':8} {'tokens':>9} {'words':>7} {'clusters':>8} {'CPU s':>7} {'nats':>7}")
    with tempfile.TemporaryDirectory() as scratch:
        for language, lines in (("en", 17_000), ("en", None), ("zh", None)):
            text = Path(scratch) / language
            with open_input(folder / f"train.{language}.gz") as file:
                text.write_bytes(b"".join(islice(file, lines)))
            for number in a.clusters:
                begin = time.process_time()
                _, report = cluster([text], clusters=number)
                seconds = time.process_time() - begin
                print(
                    f"{language:8} {report.tokens:9,} {report.words:7,} {number:8} "
                    f"{seconds:7.2f} {report.information:7.4f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
