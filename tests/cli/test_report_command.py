"""`hopefear report` as a user runs it, and its page in a real browser."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from browser import Browser, program
from report_runs import write_run

from hopefear.cli import main

Run = Callable[..., subprocess.CompletedProcess[str]]
NASTY = "</script><script>document.title='broken'</script> <img/src=x/onerror=alert(1)> '\"&lt;"


@pytest.fixture(scope="module")
def inside() -> Run:
    """Run commands in this process: starting a process takes longer than most of these tests."""

    def run(*words: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        out, err = io.StringIO(), io.StringIO()
        before, place = signal.getsignal(signal.SIGTERM), Path.cwd()
        try:
            os.chdir(cwd or place)
            with redirect_stdout(out), redirect_stderr(err):
                code = main([*map(str, words), "--progress", "off"])
        finally:
            os.chdir(place)
            signal.signal(signal.SIGTERM, before)
        return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())

    return run


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, inside: Run) -> Path:
    """A small corpus, a model of each system, and runs of three tuners."""
    folder = tmp_path_factory.mktemp("world")

    def done(*words: object) -> None:
        result = inside(*words, cwd=folder)
        assert result.returncode == 0, result.stderr

    done("world", "-o", ".", "--train", 250, "--dev", 8, "--test", 12)
    with (folder / "test.zh").open("a") as file:
        file.write(f"{NASTY}\n\n")
    for number in range(4):
        with (folder / f"test.en.{number}").open("a") as file:
            file.write(f"{NASTY}\n\n")
    refs = [f"dev.en.{number}" for number in range(4)]
    for system in ("phrase", "hiero"):
        small = ("--order", 2, "--tokenized", "--system", system)
        done("train", "train.zh", "train.en", "--model", system, *small)
    shared = ("--tokenized", "--dev", "dev.zh", "--refs", *refs, "--iterations", 2, "--kbest", 20)
    for name, model, tuner, more in (
        ("mert", "phrase", "mert", ()),
        ("mira", "phrase", "mira", ()),
        ("tree", "hiero", "batch-mira", ()),
        ("twice", "phrase", "pro", ("--runs", 2)),
    ):
        done("tune", "--model", model, "--tuner", tuner, "-o", name, *shared, *more)
    return folder


TEST = ("--test", "test.zh", "--refs", *(f"test.en.{number}" for number in range(4)))


@pytest.fixture(scope="module")
def page(world: Path, inside: Run) -> Path:
    done = inside("report", "mert", "mira", "tree", "-o", "all.html", *TEST, cwd=world)
    assert done.returncode == 0, done.stderr
    return world / "all.html"


def test_content_of_the_page(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for part in (
        *("summary", "learning", "scores", "significance", "features", "examples"),
        "configuration",
    ):
        assert f'<section id="{part}"' in text
    assert text.count('class="chart"') == 4  # two scores, length, hope and fear of mira
    assert "mira: hope and fear" in text
    assert 'class="ribbon"' in text
    assert 'class="branch"' in text
    assert "p(f|e)" in text
    assert "bleu|order:4" in text
    assert "http" not in text.replace("http-equiv", "")
    assert "</script><script>document" not in text


def test_the_same_bytes_again(page: Path, world: Path, inside: Run) -> None:
    inside("report", "mert", "mira", "tree", "-o", "two.html", *TEST, "--threads", 1, cwd=world)
    assert (world / "two.html").read_bytes() == page.read_bytes()


def test_scores_are_those_of_score(world: Path, inside: Run) -> None:
    made = inside("report", "mert", "mira", "-o", "a.html", *TEST, "--json", cwd=world)
    systems = json.loads(made.stdout)["systems"]
    for name in ("mert", "mira"):
        inside(
            *("translate", "--model", "phrase", "--tokenized", "--weights", f"{name}/weights.tsv"),
            *("-i", "test.zh", "-o", f"{name}.out"),
            cwd=world,
        )
    scored = inside(
        *("score", "mert.out", "--versus", "mira.out", "--refs", *TEST[3:], "--json"), cwd=world
    )
    expected = json.loads(scored.stdout)
    for key in ("bleu", "chrf", "ter", "length_ratio"):
        assert systems[0][key] == pytest.approx(expected[key])
        assert systems[1][key] == pytest.approx(expected["versus"][0][key])
    assert systems[1]["p_value"] == pytest.approx(expected["versus"][0]["p_value"])
    # The same translations read from files, without derivations.
    given = inside(
        *("report", "mert", "mira", "-o", "b.html", *TEST, "--json"),
        *("--translations", "mert.out", "mira.out"),
        cwd=world,
    )
    again = json.loads(given.stdout)["systems"]
    assert [one["bleu"] for one in again] == [one["bleu"] for one in systems]
    assert 'class="ribbon"' not in (world / "b.html").read_text()


def test_several_runs_and_the_tuning_set(world: Path, inside: Run) -> None:
    done = inside("report", "twice", "-o", "c.html", "--json", cwd=world)
    report = json.loads(done.stdout)
    (system,) = report["systems"]
    assert system["runs"] == ["twice/run-1", "twice/run-2"]
    text = (world / "c.html").read_text()
    assert "of the tuning set" in text
    assert "±" in text
    # A group against a single run: no paired test.
    done = inside("report", "twice", "mert", "-o", "c.html", "--json", cwd=world)
    assert "p_value" not in json.loads(done.stdout)["systems"][1]


def test_moved_files(world: Path, inside: Run, tmp_path: Path) -> None:
    shutil.copytree(world / "mert", tmp_path / "mert")
    done = inside("report", "mert", "-o", "d.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "warning: no translations: mert: its tuning set dev.zh does not exist" in done.stderr
    text = (tmp_path / "d.html").read_text()
    assert "no translations" in text
    assert '<section id="examples"' not in text
    done = inside("report", "mert", "-o", "d.html", "--no-translations", cwd=tmp_path)
    assert done.stderr == ""


def test_a_text_or_model_that_changed(world: Path, inside: Run, tmp_path: Path) -> None:
    for name in ("mert", "phrase"):
        shutil.copytree(world / name, tmp_path / name)
    for path in world.glob("dev.*"):
        shutil.copy(path, tmp_path)
    with (tmp_path / "phrase" / "model.toml").open("a") as file:
        file.write("\n")
    done = inside("report", "mert", "-o", "d.html", cwd=tmp_path)
    assert "phrase: is no longer the model that mert was tuned with" in done.stderr
    assert "is no longer the model" in (tmp_path / "d.html").read_text()
    (tmp_path / "dev.zh").write_text((tmp_path / "dev.zh").read_text().replace("a", "b"))
    done = inside("report", "mert", "-o", "d.html", cwd=tmp_path)
    assert "dev.zh has changed since tuning" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("dev.zh",), "dev.zh: has no config.toml"),
        (("mert", "--test", "test.zh"), "--test and --refs belong together"),
        (("mert", "--translations", "x"), "--translations: needs the source text"),
        (("mert", *TEST, "--translations", "a", "b"), "2 files for 1 runs"),
        (("mert", *TEST, "--model", "a", "b"), "2 directories for 1 systems"),
        (("mert", *TEST, "--model", "nowhere"), "nowhere: is no model directory"),
        (("mert", *TEST[:2], "--refs", "dev.en.0"), "has 14 lines, dev.en.0 has 8 lines"),
        (("mert", "--runs", "2"), "do not divide into groups of 2"),
        (("mert", "--no-translations", *TEST), "--no-translations: excludes --test"),
        (("mert", "-o", "nowhere/r.html"), "no directory 'nowhere'"),
    ],
)
def test_invalid_options(world: Path, inside: Run, words: tuple[str, ...], message: str) -> None:
    done = inside("report", "-o", "no.html", *words, cwd=world)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (world / "no.html").exists()


def test_a_run_without_a_model(inside: Run, tmp_path: Path) -> None:
    write_run(tmp_path / "other")
    done = inside("report", "other", "-o", "e.html", cwd=tmp_path)
    assert done.returncode == 0
    assert "other: was tuned without a model directory; give a text" in done.stderr
    assert '<section id="learning"' in (tmp_path / "e.html").read_text()


# -- in a browser --


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if program() is None:
        pytest.skip("BROWSER ABSENT: no chromium; install it to check the report's page")
    with Browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


CONTRAST = """(() => {
  const light = (text) => {
    const [r, g, b] = text.match(/[\\d.]+/g).map(Number).map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = light(getComputedStyle(document.body).backgroundColor);
  const ratio = (ink) => (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
  const every = document.querySelectorAll("h1, h2, p, a, th, td, summary, dt, dd, li, code");
  return Math.min(...Array.from(every, (e) => ratio(light(getComputedStyle(e).color))));
})()"""


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_rendering(browser: Browser, page: Path, width: int, dark: bool) -> None:
    browser.window(width, 800, dark=dark)
    browser.open(page)
    assert browser.errors == []
    assert browser.value("document.title") == "Tuning report"
    browser.value("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert browser.value("document.documentElement.scrollWidth") == width  # no overflow
    small = "Array.from(document.querySelectorAll('.chart > svg'), (s) => s.clientWidth)"
    assert min(browser.value(small)) > 300
    assert browser.value(CONTRAST) >= 4.5
    paper = browser.value("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, paper[4:-1].split(","))) < 300) == dark


def shown(browser: Browser) -> list[int]:
    rows = "document.querySelectorAll('#list > li:not([hidden])')"
    return list(browser.value(f"Array.from({rows}, (row) => Number(row.dataset.number))"))


def choose(browser: Browser, id: str, value: str) -> None:
    browser.value(
        f"(() => {{ const c = document.getElementById({json.dumps(id)}); "
        f"c.value = {json.dumps(value)}; "
        "c.dispatchEvent(new Event('input', { bubbles: true })); })()"
    )


def test_controls(browser: Browser, page: Path) -> None:
    browser.window(1280, 800)
    browser.open(page)
    scores = {
        int(number): values
        for number, values in browser.value(
            "Array.from(document.querySelectorAll('#list > li'), "
            "(row) => [row.dataset.number, JSON.parse(row.dataset.scores)])"
        )
    }
    assert len(scores) == 14
    for first, second in ((0, 2), (1, 2)):
        choose(browser, "first", str(first))
        choose(browser, "second", str(second))
        found = [abs(scores[n][first] - scores[n][second]) for n in shown(browser)]
        assert found == sorted(found, reverse=True)
    choose(browser, "sort", "number")
    assert shown(browser) == list(range(1, 15))
    choose(browser, "sort", "score")
    lowest = [min(scores[n]) for n in shown(browser)]
    assert lowest == sorted(lowest)
    choose(browser, "filter", "ONERROR")
    assert shown(browser) == [13]
    assert browser.value("document.getElementById('count').textContent") == "1 sentence"
    choose(browser, "filter", "")
    assert len(shown(browser)) == 14
    assert browser.errors == []


def test_keyboard(browser: Browser, page: Path) -> None:
    browser.window(1280, 800)
    browser.open(page)
    at = "Number(document.activeElement.closest('li')?.dataset.number)"
    opened = "document.activeElement.parentElement.open"
    order = shown(browser)
    browser.value("document.querySelector('#list summary').focus()")
    browser.press("ArrowDown")
    assert browser.value(at) == order[1]
    browser.press("End")
    assert browser.value(at) == order[-1]
    browser.press("ArrowDown")  # the last entry is selected already
    assert browser.value(at) == order[-1]
    browser.press("Home")
    assert browser.value(at) == order[0]
    assert not browser.value(opened)
    browser.press("Enter")
    assert browser.value(opened)
    browser.press("ArrowLeft")
    assert not browser.value(opened)
    browser.press("ArrowRight")
    assert browser.value(opened)
    # From the top of the page, the skip link comes first, then the other links.
    browser.open(page)
    browser.press("Tab")
    assert browser.value("document.activeElement.className") == "skip"
    browser.press("Tab")
    assert browser.value("document.activeElement.getAttribute('href')") == "#summary"
    unnamed = (
        "Array.from(document.querySelectorAll('select, input')).filter((c) => !c.labels.length)"
    )
    assert browser.value(f"{unnamed}.length") == 0
    assert browser.errors == []


def test_markup_in_texts_is_escaped(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert browser.value("document.title") == "Tuning report"
    assert browser.value("document.querySelectorAll('img').length") == 0
    assert browser.value("document.scripts.length") == 1
    text = browser.value("document.querySelector('[data-number=\"13\"] .text').textContent")
    assert text == NASTY


def test_without_script_and_on_paper(browser: Browser, page: Path) -> None:
    browser.window(720, 1000, dark=True, paper=True)
    browser.open(page, script=False)
    assert browser.value("document.documentElement.scrollWidth") == 720
    assert browser.value("document.querySelectorAll('#list > li').length") == 14
    assert browser.value("getComputedStyle(document.getElementById('controls')).display") == "none"
    assert browser.value("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert browser.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.errors == []
