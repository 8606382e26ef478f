"""What the studies share: corpora, rows, tables, runs that can be killed, pages in docs/results.

A study is a list of `Setting`s (rows) in a `Study` (a table for each corpus and system). `main` is
its command line:

    main(Study("selection", "Hope and fear", settings, page="online"), __doc__)

Models and runs are made once and shared by all studies. The name of a run's folder has a hash of
all its settings and sizes, so that tables with the same row share its run and other sizes never
mix. Two runs with one thread each go in parallel, which uses two cores better than one run with two
threads. A command that was stopped resumes when it is called again.

Scores are of the test set. p-values compare with the first setting (or the one called `against`) by
stratified approximate randomisation over all seeds, as in `hopefear score --versus`.
"""

from __future__ import annotations

from harness.command import data_folders, main, parser
from harness.corpora import CORPORA, Corpus
from harness.results import RESULTS, markdown, tables_of, write_section
from harness.runner import DERIVED, OutOfTimeError, Runner
from harness.settings import BEST_ITERATION, Setting, Sizes, Study
from harness.tables import COLUMNS, Finished, Scores, title_of
