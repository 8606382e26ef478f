"""The report of a reranker: what the page contains, and files that are not one."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from hopefear import Reranker
from hopefear.analysis.report.reranking import read_rerank_report, write_rerank_report
from hopefear.base.errors import InputError

pytestmark = pytest.mark.filterwarnings("ignore:.*(lists are few|may be chance|overstates)")

REFERENCES = [f"a <b> house {number} & more" for number in range(12)]
LISTS = [
    [
        {"text": text[2:], "features": {"good": 0.0, "<i>": float(number % 3)}},
        {"text": text, "features": {"good": 1.0, "<i>": 0.0}},
    ]
    for number, text in enumerate(REFERENCES)
]


class Balanced(HTMLParser):
    """Checks that every element is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in ("meta", "br", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def saved(path: Path, **options: Any) -> dict[str, Any]:
    fast = {"restarts": 1, "kicks": 0}
    Reranker(tuner_options=fast, **options).fit(LISTS, REFERENCES).save_report(path)
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def test_the_page(tmp_path: Path) -> None:
    first = saved(tmp_path / "a.json", ablation=True)
    saved(tmp_path / "b.json", metric="chrf", folds=1)
    reports = [read_rerank_report(tmp_path / name) for name in ("a.json", "b.json")]
    out = tmp_path / "r.html"
    report = write_rerank_report(out, reports, ["one", "two"], title="A title", sentences=3)
    text = out.read_text()
    page = Balanced()
    page.feed(text)
    assert page.open == []
    assert len(set(page.ids)) == len(page.ids)
    assert {"gain-1", "metrics-1", "features-2", "examples-2"} <= set(page.ids)
    assert "<i>" not in text  # names and texts are escaped
    assert "i" not in page.tags
    assert "cross-validated with 5 folds" in text
    assert "on the lists that were tuned on" in text
    assert f"{first['report']['tuned']:.2f}" in text
    assert text.count("<dt>reference</dt>") == 6
    assert [system["name"] for system in report["systems"]] == ["one", "two"]
    assert "Each feature left out" in text


def test_the_curve_of_candidates(tmp_path: Path) -> None:
    rows = [
        {
            "candidates": size,
            "mean_candidates": float(size),
            "tuned": 40.0 + size,
            "oracle": 50.0 + size,
            "difference": size - 20.0,
            "p_value": 0.01 if size < 20 else 1.0,
        }
        for size in (1, 5, 20)
    ]
    content = {"kind": "select", "report": {"metric": "wer", "tuner": "mert", "lists": 9}}
    content["report"] |= {"sizes": rows, "enough": 20, "warnings": ["9 lists are few"]}
    (tmp_path / "s.json").write_text(json.dumps(content))
    out = tmp_path / "r.html"
    reports = [read_rerank_report(tmp_path / "s.json")]
    write_rerank_report(out, reports, ["one"], title="A title", sentences=3)
    page = Balanced()
    page.feed(out.read_text())
    assert page.open == []
    assert "svg" in page.tags
    assert "20 candidates are enough" in out.read_text()
    assert "9 lists are few" in out.read_text()


def test_files_that_are_no_reports(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for content in ("", "[]", "{}", '{"kind": "tune"}', '{"kind": "rerank", "report": {}}'):
        path.write_text(content)
        with pytest.raises(InputError, match="not a report of 'hopefear rerank tune --report'"):
            read_rerank_report(path)
