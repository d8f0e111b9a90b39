"""Pages of models: their files, and what they do in Chromium, online and offline."""

from __future__ import annotations

import base64
import functools
import hashlib
import http.server
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from in_node import built

import epigram
from epigram import CRFTagger, InputError, KanaKanjiConverter, KneserNeyLM, Pipeline, TextClassifier
from epigram.web.export import export_page

pytestmark = built
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
AUDIT = Path(__file__).parents[1] / "serve/page_audit.js"
FILES = {"index.html", "style.css", "page.mjs", "epigram.mjs", "sw.js", "core.wasm"}


class Site:
    """A static file server of a folder, for other origins too if ``is_shared``; ``asked`` are paths of requests."""

    def __init__(self, folder: Path, is_shared: bool = False) -> None:
        asked = self.asked = []

        class Handler(http.server.SimpleHTTPRequestHandler):
            def end_headers(self) -> None:
                if is_shared:
                    self.send_header("Access-Control-Allow-Origin", "*")
                super().end_headers()

            def log_message(self, *_: object) -> None:
                asked.append(self.path)

        handler = functools.partial(Handler, directory=str(folder))
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def until(ready: Callable[[], bool]) -> None:
    """Wait for the page; its policy forbids what Playwright's own waiting would evaluate."""
    end = time.monotonic() + 60
    while not ready():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    words = [["The", "cook", "tasted", "the", "soup"], ["She", "did", "not", "paint"], ["the", "boat"]] * 4
    labels = [["D", "N", "V", "D", "N"], ["P", "V", "R", "V"], ["D", "N"]] * 4
    path = tmp_path_factory.mktemp("models") / "tiny.epigram"
    CRFTagger("pos", l1=0.01).fit([[(word,) for word in own] for own in words], labels).save(path)
    return path


@pytest.fixture
def browser() -> Iterator[object]:
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("no Chromium here")
    with playwright.sync_playwright() as runner:
        made = runner.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--js-flags=--expose-gc"]
        )
        yield made
        made.close()


def test_a_page_has_its_files_and_nothing_of_the_user_is_deleted(tagger: Path, tmp_path: Path) -> None:
    sizes = export_page(tagger, tmp_path / "page")
    assert {path.name for path in (tmp_path / "page").iterdir()} == set(sizes) == {*FILES, "tiny.epigram.gz"}
    before = {path.name: path.read_bytes() for path in (tmp_path / "page").iterdir()}
    (tmp_path / "page" / "mine.txt").write_text("mine")
    export_page(tagger, tmp_path / "page")
    assert (tmp_path / "page" / "mine.txt").read_text() == "mine"
    assert {name: (tmp_path / "page" / name).read_bytes() for name in before} == before
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "index.html").write_text("mine")
    with pytest.raises(InputError, match="holds other files than a page"):
        export_page(tagger, tmp_path / "other")
    assert (tmp_path / "other" / "index.html").read_text() == "mine"


def test_the_policy_of_a_page_permits_no_other_host_and_no_inline_script(
    tagger: Path, tmp_path: Path
) -> None:
    export_page(tagger, tmp_path / "page")
    html = (tmp_path / "page" / "index.html").read_text()
    assert "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self';" in html
    assert "unsafe-inline" not in html
    assert "style=" not in html
    assert "http:" not in html.replace("http://www.w3.org/2000/svg", "")
    assert "https:" not in html


def test_a_page_tags_explains_and_works_offline(tagger: Path, tmp_path: Path, browser: object) -> None:
    export_page(tagger, tmp_path / "page")
    site = Site(tmp_path / "page")
    context = browser.new_context(viewport={"width": 1200, "height": 900})  # type: ignore[attr-defined]
    page = context.new_page()
    wrong: list[str] = []
    asked: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.on("request", lambda request: asked.append(request.url))
    page.goto(site.url)
    page.wait_for_selector("body[data-ready=true]", timeout=60_000)
    page.fill("textarea", "the cook paint")
    page.wait_for_selector("#results .token:text('paint')")
    until(lambda: page.locator("#results .token").count() == 3)
    assert page.locator("#results .label").all_inner_texts() == ["D", "N", "V"]
    page.click("#results .token >> nth=1")
    page.wait_for_selector("#why .terms li")
    assert "N rather than" in page.inner_text("#why h2")
    with page.expect_download() as saved:
        page.click("text=download")
    assert Path(saved.value.path()).read_text() == "the\tD\ncook\tN\npaint\tV\n"
    for width in (1200, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(AUDIT.read_text()) == []
    page.evaluate("navigator.serviceWorker.ready.then(() => null)")
    until(lambda: page.evaluate("caches.keys().then((names) => names.length)") == 1)
    site.close()
    page.reload()
    page.wait_for_selector("body[data-ready=true]", timeout=60_000)
    page.wait_for_selector("#results .token")
    assert all(url.startswith((site.url, "data:", "blob:")) for url in asked), asked
    assert wrong == []
    context.close()


@pytest.fixture
def shown(tmp_path: Path, browser: object) -> Iterator[Callable[[Any], Any]]:
    """Exports a model, and opens its page; in the end the page has said nothing wrong and reads well."""
    wrong: list[str] = []
    opened: list[Any] = []

    def show(model: Any) -> Any:
        model.save(tmp_path / "tiny.epigram")
        export_page(tmp_path / "tiny.epigram", tmp_path / "page")
        site = Site(tmp_path / "page")
        page = browser.new_page(viewport={"width": 1200, "height": 900})  # type: ignore[attr-defined]
        opened.extend((site, page))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.goto(site.url)
        page.wait_for_selector("body[data-ready=true]", timeout=60_000)
        return page

    yield show
    site, page = opened
    for width in (1200, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(AUDIT.read_text()) == []
    assert wrong == []
    page.close()
    site.close()


def downloaded(page: Any) -> str:
    """The file that the page's button saves."""
    with page.expect_download() as saved:
        page.click("text=download")
    return Path(saved.value.path()).read_text()


def test_a_page_says_what_comes_next(shown: Callable[[Any], Any]) -> None:
    model = KneserNeyLM(3).fit(["a rose is a rose", "a tulip is red", "the rose is red"] * 4)
    page = shown(model)
    page.fill("#context", "the")
    until(lambda: page.locator(".bars button").first.inner_text().startswith("rose"))
    page.click(".bars button >> nth=0")
    page.wait_for_selector("#why .terms li")
    assert "rose" in page.inner_text("#why h2")
    page.fill("textarea", "a rose is red")
    until(lambda: page.locator("#surprise span").count() == 5)
    rows = [line.split("\t") for line in downloaded(page).splitlines()]
    assert [row[0] for row in rows] == ["a", "rose", "is", "red", "</s>"]
    scores = model.word_scores("a rose is red").tolist()
    assert max(abs(float(row[1]) - own) for row, own in zip(rows, scores, strict=True)) < 1e-6


def test_a_page_classifies_text(shown: Callable[[Any], Any]) -> None:
    texts = ["cheap pills now", "lunch at noon?", "cheap watches", "meeting at noon"] * 5
    model = TextClassifier(words=2, l2=0.1, bits=0).fit(texts, ["spam", "ham"] * 10)
    page = shown(model)
    page.fill("textarea", "cheap lunch")
    page.wait_for_selector("#marked span:text('lunch')")
    page.click(".bars button >> text=spam")
    until(lambda: page.locator("#why h2").inner_text().startswith("Why spam"))
    assert page.locator("#why .code").first.inner_text() == "cheap"
    found = dict(line.split("\t") for line in downloaded(page).splitlines())
    expected = model.predict_proba(["cheap lunch"])[0].tolist()
    assert max(abs(float(found[name]) - p) for name, p in zip(["ham", "spam"], expected, strict=True)) < 1e-6


def test_a_page_analyses_raw_text(tmp_path: Path, shown: Callable[[Any], Any]) -> None:
    rows = [
        row.split() for row in ("1 Dogs dog NOUN 2 nsubj", "2 bark bark VERB 0 root", "3 . . PUNCT 2 punct")
    ]
    lines = [
        "\t".join((*c[:4], "_", "_", *c[4:], "_", "SpaceAfter=No" if c[0] == "2" else "_")) for c in rows
    ]
    (tmp_path / "tiny.conllu").write_text(("\n".join(lines) + "\n\n") * 12)
    page = shown(Pipeline(folds=2).fit(tmp_path / "tiny.conllu"))
    page.fill("textarea", "Dogs bark. Dogs bark.")
    until(lambda: page.locator("#results .column").count() == 6)
    assert page.locator("#results .tag").all_inner_texts() == ["NOUN", "VERB", "PUNCT"] * 2
    assert page.locator("svg.tree path.tip").count() == 4
    page.click("#results .column >> nth=4")
    page.wait_for_selector("#why .reasons .terms")
    assert "the root" in page.inner_text("#why dl")
    expected = epigram.load(tmp_path / "tiny.epigram")("Dogs bark. Dogs bark.").to_conllu()
    assert downloaded(page) == expected


def test_a_page_types_japanese(shown: Callable[[Any], Any]) -> None:
    model = KanaKanjiConverter.build(["橋/はし を 渡る/わたる", "箸/はし で 食べる/たべる"] * 3, rescore=True)
    page = shown(model)
    assert page.locator("#results div").count() == 2
    area = page.locator("textarea").first
    area.click()
    page.keyboard.type("hashi")
    until(lambda: area.input_value() == "はし")
    page.keyboard.press("Space")
    page.wait_for_selector("#candidates li[aria-selected=true]")
    first = area.input_value()
    page.keyboard.press("ArrowDown")
    until(lambda: area.input_value() not in (first, "はし"))
    page.keyboard.press("Enter")
    until(lambda: page.locator("#candidates").is_hidden())
    assert {first, area.input_value()} == {"橋", "箸"}
    page.fill("textarea >> nth=1", "はしをわたる\nはしでたべる")
    until(lambda: page.locator("#results div").all_inner_texts() == ["橋を渡る", "箸で食べる"])
    assert downloaded(page) == area.input_value()


def test_the_snippet_of_the_readme_runs_in_a_page(tagger: Path, tmp_path: Path, browser: object) -> None:
    readme = (Path(__file__).parents[2] / "js/README.md").read_text()
    export_page(tagger, tmp_path / "page")
    (tmp_path / "page/tiny.epigram.gz").rename(tmp_path / "page/model.epigram.gz")
    (tmp_path / "page/own.html").write_text(readme.split("```html\n")[1].split("```")[0])
    site, said = Site(tmp_path / "page"), []
    page = browser.new_page()  # type: ignore[attr-defined]
    page.on("console", lambda line: said.append(line.text))
    page.goto(f"{site.url}own.html")
    until(lambda: page.evaluate("null") or any(text.startswith(("[", "Array")) for text in said))
    page.close()
    site.close()


OWN_PAGE = """import { load } from "./epigram.mjs";
const models = {};
window.open_ = async (name, url, options = {}) => {
  try {
    const seen = [];
    models[name] = await load(url, { ...options, onprogress: (size, total) => seen.push([size, total]) });
    return { labels: await models[name].tag(["the", "cook"]), seen };
  } catch (error) {
    return { error: error.message, kind: error.name };
  }
};
window.free_ = async (name) => {
  models[name].free();
  return models[name].tag(["the"]).catch((error) => error.message);
};
window.forget_ = (name) => { delete models[name]; gc(); };
"""


def test_models_of_other_hosts_are_checked_cached_and_freed(
    tagger: Path, tmp_path: Path, browser: object
) -> None:
    export_page(tagger, tmp_path / "page")
    (tmp_path / "page/own.html").write_text('<script type="module" src="own.mjs"></script>')
    (tmp_path / "page/own.mjs").write_text(OWN_PAGE)
    packed = (tmp_path / "page/tiny.epigram.gz").read_bytes()
    right = {"integrity": f"sha256-{base64.b64encode(hashlib.sha256(packed).digest()).decode()}"}
    own, shared = Site(tmp_path / "page"), Site(tmp_path / "page", is_shared=True)
    page = browser.new_page()  # type: ignore[attr-defined]
    page.goto(f"{own.url}own.html")
    url = f"{shared.url}tiny.epigram.gz"

    def opened(name: str, *given: object) -> Any:
        return page.evaluate("([name, ...given]) => window.open_(name, ...given)", [name, *given])

    plain = opened("plain", url)
    assert plain["labels"] == ["D", "N"]
    assert plain["seen"][-1] == [len(packed), len(packed)]
    assert len(page.workers) == 1
    assert "freed" in page.evaluate("window.free_('plain')")
    until(lambda: page.evaluate("null") or not page.workers)
    assert opened("here", url, {"worker": False})["labels"] == ["D", "N"]
    assert not page.workers
    assert opened("kept", url, right)["labels"] == ["D", "N"]
    page.evaluate("window.forget_('kept')")
    until(lambda: page.evaluate("gc()") or not page.workers)
    assert "integrity" in opened("changed", url, {"integrity": "sha256-AAAA"})["error"]
    assert "CORS" in opened("private", f"http://localhost:{own.server.server_port}/tiny.epigram.gz")["error"]
    asked = shared.asked.count("/tiny.epigram.gz")
    shared.close()
    assert opened("again", url, right)["labels"] == ["D", "N"]
    assert shared.asked.count("/tiny.epigram.gz") == asked
    assert "cannot fetch" in opened("gone", url)["error"]
    page.close()
    own.close()
