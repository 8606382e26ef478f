"""What the studies share: corpora, rows, tables, runs that can be killed, pages in docs/results.

A study is a list of `Setting`s (rows) in a `Study` (a table for each corpus and system) and a call
of `main`, which is its command line:

    main(Study("selection", "Hope and fear", settings, page="online"), __doc__)

Models are trained once for all studies and kept, runs too, each in a folder whose name says what it
depends on (a readable beginning and a hash of the whole): a table that shares a row with another
one does not run it again, and other sizes never mix. Two runs go on at a time with one thread each,
which wastes less of two cores than one run with two threads. A command that was stopped, by its own
clock or by a kill, goes on when it is given again.

BLEU and TER are of the test set's beginning; p-values against the first setting (or the one called
`against`) by stratified approximate randomisation over all seeds, as `hopefear score --versus`.
"""

from __future__ import annotations

from harness.command import main, parser, place
from harness.corpora import CORPORA, Corpus
from harness.results import RESULTS, markdown, tables_of, write_section
from harness.runner import DERIVED, OutOfTimeError, Runner
from harness.settings import BEST_ITERATION, Setting, Sizes, Study
from harness.tables import COLUMNS, Finished, Scores, title_of
