"""A report opened in a real browser: on a phone, on a desk, on paper and in the dark."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import fake_paper
import page_checks
import pytest
from browser import Browser, chromium

from epigram_papers.publish import publish
from epigram_papers.report import Run

needs_browser = pytest.mark.skipif(chromium() is None, reason="no Chromium; make browser")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as running:
        yield running


@pytest.fixture(scope="module")
def fake_reports(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Run]:
    reports = [fake_paper.report([4, 9]), fake_paper.report([1, 2], name="other")]
    run = Run(reports, True, {"processor": "8086"}, "2026-01-01", "2026-01-02", 99.0)
    return publish(run, tmp_path_factory.mktemp("report")), run


@needs_browser
@pytest.mark.parametrize("name", page_checks.WIDTHS)
def test_everything_is_there_and_in_its_place(
    browser: Browser, fake_reports: tuple[Path, Run], name: str
) -> None:
    page, run = fake_reports
    page_checks.check(page_checks.measure(browser, page, name), run.reports, name)


@needs_browser
@pytest.mark.parametrize(
    ("damage", "repair"),
    [
        ("</main>", '</main><div style="width: 2000px">wide</div>'),
        ("</main>", '</main><img src="https://example.org/x.png" alt="">'),
        ("</main>", "</main><script>console.log('hello')</script>"),
        (".picture svg { display: block; width: 100%;", ".picture svg { display: block; width: 130%;"),
        ('<table class="wide">', '<table class="wide" style="display: none">'),
    ],
)
def test_the_checks_see_damage(
    browser: Browser, fake_reports: tuple[Path, Run], tmp_path: Path, damage: str, repair: str
) -> None:
    page, run = fake_reports
    damaged = tmp_path / "index.html"
    text = page.read_text("utf-8")
    assert damage in text
    damaged.write_text(text.replace(damage, repair), "utf-8")
    with pytest.raises(AssertionError):
        page_checks.check(page_checks.measure(browser, damaged, "phone"), run.reports, "phone")


@needs_browser
def test_dark_pages_keep_light_figures(browser: Browser, fake_reports: tuple[Path, Run]) -> None:
    colours = {}
    for scheme in ("light", "dark"):
        browser.open(fake_reports[0], scheme=scheme)
        colours[scheme] = browser.run(
            "['body', '.picture', 'body'].map((s, k) => getComputedStyle(document.querySelector(s))"
            "[k < 2 ? 'backgroundColor' : 'color'])"
        )
    brightness = {scheme: [_brightness(colour) for colour in found] for scheme, found in colours.items()}
    assert brightness["light"][0] > 200 > 80 > brightness["light"][2]
    assert brightness["dark"][0] < 60 < 180 < brightness["dark"][2]
    assert brightness["light"][1] == brightness["dark"][1] == 255


@needs_browser
def test_it_prints(browser: Browser, fake_reports: tuple[Path, Run], tmp_path: Path) -> None:
    browser.open(fake_reports[0])
    browser.pdf(tmp_path / "report.pdf")
    pdf = (tmp_path / "report.pdf").read_bytes()
    assert pdf.startswith(b"%PDF")
    assert 4 < len(re.findall(rb"/Type\s*/Page\b", pdf)) < 20


@pytest.mark.slow
def test_all_papers_quickly(data: Path, tmp_path: Path) -> None:
    """The real thing: every experiment on subsets, then the page in the browser."""
    folder = tmp_path / "report"
    command = [sys.executable, "-m", "epigram_papers", "all", "--quick", "-o", str(folder)]
    environment = {**os.environ, "EPIGRAM_DATA": str(data)}
    first = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=900)
    assert first.returncode == 0, first.stderr
    reports = page_checks.reports_of(folder)
    assert [report.name for report in reports] == ["sgd-l1", "structured-lm", "lasso-ime"]
    assert all(report.claims() for report in reports)
    if chromium():
        with Browser() as browser:
            for name in page_checks.WIDTHS:
                page_checks.check(page_checks.measure(browser, folder / "index.html", name), reports, name)


def _brightness(colour: str) -> float:
    red, green, blue = (int(part) for part in re.findall(r"\d+", colour)[:3])
    return 0.3 * red + 0.59 * green + 0.11 * blue
