"""The page in Chromium: each panel does its job, nothing leaves the machine, nothing overflows, everything has a name.

With EPIGRAM_PICTURES set to a folder, the pictures of docs/studio.md are written there.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from running import Running

from epigram.storage.installed import installed_models

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium; make browser")

PANELS = ("type", "analyse", "tag", "classify", "predict", "rerank", "train", "models")
CHECKS = (Path(__file__).parent / "page_audit.js").read_text("utf-8")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as runner:
        made = runner.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield made
        made.close()


@pytest.fixture
def page(browser: Any, server: Running) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1100, "height": 800}, base_url=server.url)
    made = context.new_page()
    made.set_default_timeout(30_000)
    troubles: list[str] = []
    made.on("console", lambda said: troubles.append(said.text) if said.type in ("error", "warning") else None)
    made.on("pageerror", lambda error: troubles.append(str(error)))
    made.on(
        "request",
        lambda sent: (
            None
            if sent.url.startswith((server.url, "blob:", "data:"))
            else troubles.append(f"asked {sent.url}")
        ),
    )
    yield made
    context.close()
    assert not troubles


def open_panel(page: Any, name: str) -> None:
    page.goto(f"/#{name}")
    page.wait_for_selector("main section h1")


def until(page: Any, expression: str) -> None:
    """Wait for an expression to hold; the page's policy forbids what wait_for_function does."""
    for _ in range(600):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    raise AssertionError(expression)


def picture(page: Any, name: str) -> None:
    if folder := os.environ.get("EPIGRAM_PICTURES"):
        page.screenshot(path=str(Path(folder) / f"studio-{name}.png"))


def composed(page: Any) -> str:
    return str(page.locator(".under").inner_text()).strip("\u200b\n")


def type_and_convert(page: Any, romaji: str) -> None:
    page.keyboard.type(romaji)
    page.keyboard.press("Space")
    page.wait_for_selector(".candidates [role=option] .n")


def at(page: Any) -> str:
    return str(page.locator(".under .at").inner_text())


def value(page: Any, text: str) -> None:
    """Wait for the text area to hold a text."""
    until(page, f"document.querySelector('textarea').value === {text!r}")


def test_type_choose_commit_and_type_again(page: Any) -> None:
    open_panel(page, "type")
    area = page.locator("textarea").first
    area.click()
    page.keyboard.type("atarashiihashidegohanwotaberu.")
    page.wait_for_selector(".under .reading")
    value(page, "あたらしいはしでごはんをたべる。")
    page.keyboard.press("Space")
    page.wait_for_selector(".under .piece")
    value(page, "新しい箸でご飯を食べる。")
    page.keyboard.press("ArrowRight")
    until(page, "document.querySelector('.under .at').textContent === '箸で'")
    second = page.locator(".candidates [role=option]").nth(1).inner_text().split()[-1]
    page.keyboard.press("ArrowDown")
    until(page, f"document.querySelector('.under .at').textContent === '{second}'")
    picture(page, "type")
    box, mark = page.locator(".candidates").bounding_box(), page.locator(".under .at").bounding_box()
    assert abs(box["x"] - mark["x"]) < 40
    assert 0 <= box["y"] - mark["y"] - mark["height"] < 20
    page.keyboard.press("Enter")
    until(page, "document.getElementById('corrections').textContent.startsWith('1')")
    once = f"新しい{second}ご飯を食べる。"
    value(page, once)
    page.keyboard.type("atarashiihashidegohanwotaberu.")
    page.keyboard.press("Space")
    page.wait_for_selector(".under .piece")
    value(page, once + once)
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    until(page, "document.querySelector('.under .at') === null")
    value(page, once)
    page.locator("#corrections").click()
    assert page.locator(".lessons li").inner_text().startswith("あたらしいはしで")
    page.get_by_role("button", name="undo", exact=True).last.click()
    until(page, "document.getElementById('corrections').textContent.startsWith('no')")
    assert page.locator(".lessons li").count() == 0


def test_segments_are_resized_and_digits_choose(page: Any) -> None:
    open_panel(page, "type")
    page.locator("textarea").first.click()
    page.get_by_label("words and probabilities").check()
    type_and_convert(page, "hashiwowataru")
    assert at(page) == "橋を"
    page.wait_for_selector("text=3-gram")
    assert page.locator(".aligned tr").first.locator("td").count() == 5
    assert page.locator(".aligned tr").nth(1).locator("mark").count() >= 1
    assert page.locator(".aligned tr").first.locator("mark").count() == 0
    assert page.locator(".candidates mark").count() >= 2
    picture(page, "type-words")
    page.keyboard.press("Shift+ArrowLeft")
    until(page, "document.querySelector('.under .at').textContent.length === 1")
    page.keyboard.press("Shift+ArrowRight")
    until(page, "document.querySelector('.under .at').textContent === '橋を'")
    options = [text.split()[-1] for text in page.locator(".candidates [role=option]").all_inner_texts()]
    page.keyboard.press("3")
    until(page, f"document.querySelector('.under .at').textContent === '{options[2]}'")
    page.keyboard.press("ArrowLeft")
    until(page, "document.querySelector('.under .at').textContent === '渡る'")
    page.locator(".candidates [role=option]", has_text="わたる").click()
    until(page, "document.querySelector('.under .at').textContent === 'わたる'")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.keyboard.type("kyou")
    value(page, options[2] + "わたる\nきょう")
    for _ in ("う", "きょ"):
        page.keyboard.press("Backspace")
    until(page, "!document.querySelector('.under .reading')")
    value(page, options[2] + "わたる\n")


def test_a_session_as_a_person_types_it(page: Any) -> None:
    """A letter commits and goes on, tab predicts and stays, F7, Latin, taking back, a selection again, settings."""
    open_panel(page, "type")
    page.locator("textarea").first.click()
    type_and_convert(page, "hashiwowataru")
    page.keyboard.type("hashi")
    value(page, "橋を渡るはし")
    page.keyboard.press("Tab")
    page.wait_for_selector(".candidates [role=option]")
    assert page.evaluate("document.activeElement.tagName") == "TEXTAREA"
    page.keyboard.press("Escape")
    page.keyboard.press("F7")
    value(page, "橋を渡るハシ")
    page.keyboard.type("Python")
    value(page, "橋を渡るハシPython")
    page.keyboard.press("Enter")
    until(page, "document.querySelector('.under .at') === null")
    page.keyboard.press("Control+z")
    page.wait_for_selector(".under .at")
    page.keyboard.press("Enter")
    value(page, "橋を渡るハシPython")
    page.evaluate("document.querySelector('textarea').setSelectionRange(0, 4)")
    page.locator("textarea").first.dispatch_event("keydown", {"key": "Convert"})
    page.wait_for_selector(".candidates [role=option]")
    until(page, "document.querySelectorAll('.under .piece').length === 2")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    value(page, "橋を渡るハシPython")
    page.get_by_text("Settings").click()
    page.get_by_label("punctuation").select_option("，．")
    page.locator("textarea").first.focus()
    page.evaluate("document.querySelector('textarea').setSelectionRange(10, 12)")
    page.keyboard.type("a.")
    value(page, "橋を渡るハシPythあ．")
    page.get_by_label("learn nothing").check()
    page.locator("textarea").first.focus()
    type_and_convert(page, "hashi")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    until(page, "document.querySelector('.under .at') === null")
    assert page.locator("#corrections").text_content() == "no corrections yet"


def test_a_phone_converts_by_taps(browser: Any, server: Running) -> None:
    context = browser.new_context(
        viewport={"width": 360, "height": 740}, base_url=server.url, has_touch=True, is_mobile=True
    )
    page = context.new_page()
    page.set_default_timeout(30_000)
    open_panel(page, "type")
    area = page.locator("textarea").first
    area.tap()
    keyboard = context.new_cdp_session(page)  # composes words, as those of phones do
    for k in range(1, 6):
        keyboard.send(
            "Input.imeSetComposition", {"text": "hashi"[:k], "selectionStart": k, "selectionEnd": k}
        )
    keyboard.send("Input.insertText", {"text": "hashi"})
    value(page, "はし")
    page.get_by_role("button", name="convert").tap()
    page.wait_for_selector(".candidates [role=option]")
    first = at(page)
    page.locator(".candidates [role=option]").nth(1).tap()
    until(page, f"document.querySelector('.under .at').textContent !== '{first}'")
    picture(page, "phone-type")
    chosen = at(page)
    page.get_by_role("button", name="commit").tap()
    until(page, "document.querySelector('.under .at') === null")
    value(page, chosen)
    page.get_by_role("button", name="undo", exact=True).first.tap()
    page.wait_for_selector(".under .at")
    context.close()


def test_a_line_that_the_server_has_forgotten_stays(page: Any) -> None:
    open_panel(page, "type")
    page.locator("textarea").first.click()
    page.keyboard.type("hashi")
    value(page, "はし")
    page.evaluate("sessionStorage.setItem('session', 'another-session-of-this-page')")
    page.keyboard.type("ka")
    value(page, "はしか")


def test_a_converter_is_adapted(page: Any) -> None:
    open_panel(page, "type")
    page.get_by_text("Adapt it to your own text").click()
    page.get_by_role("button", name="sample text").click()
    until(page, "document.querySelector('textarea.small').value.length > 100")
    page.get_by_role("button", name="adapt", exact=True).click()
    told = page.wait_for_selector("text=before,").inner_text()
    before, after = (float(number) for number in re.findall(r"([\d.]+) %", told))
    assert after < before
    page.get_by_role("button", name="use it").click()
    page.wait_for_selector("select[aria-label=converter]")
    assert page.locator("select[aria-label=converter]").input_value() == "japanese-adapted"


def test_tag_click_correct_download_learn(page: Any, tmp_path: Path) -> None:
    open_panel(page, "tag")
    page.get_by_label("text to tag").fill("The cook tasted the soup before the guests waited.")
    until(page, "document.querySelectorAll('.sentence').length === 1")
    word = page.locator(".token", has_text="before")
    label, other = ("B-PP", "B-SBAR") if "B-PP" in word.get_attribute("aria-label") else ("B-SBAR", "B-PP")
    page.get_by_role("button", name=f"before, {label}").click()
    page.wait_for_selector(f"text={label} rather than {other}")
    assert page.locator("#why .terms li").count() > 4
    assert page.locator(".heat td").count() > 20
    picture(page, "tag")
    page.get_by_label("label of before").select_option(other)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="download as CoNLL").click()
    waiting.value.save_as(tmp_path / "x.conll")
    lines = (tmp_path / "x.conll").read_text("utf-8").splitlines()
    assert lines[:2] == ["The\tB-NP", "cook\tI-NP"]
    assert f"before\t{other}" in lines
    for _ in range(3):
        page.get_by_role("button", name="learn at once").click()
        page.wait_for_selector("#notice.shown >> text=learnt")
        until(page, "!document.querySelector('#corrected button')")
        if other in word.get_attribute("aria-label"):
            break
        word.click()
        page.get_by_label("label of before").select_option(other)
    assert other in word.get_attribute("aria-label")


def test_analyse_click_and_read_why(browser: Any, cache: Path, toy_pipeline: Path) -> None:
    with Running("--port", "0", str(toy_pipeline), cache=cache) as running:
        page = browser.new_page(base_url=running.url)
        page.set_default_timeout(30_000)
        open_panel(page, "analyse")
        page.get_by_label("text to analyse").fill("Dogs bark. Dogs bark.\n\nDogs bark.")
        until(page, "document.querySelectorAll('.analysed').length === 3")
        assert page.locator("svg.tree").first.get_attribute("aria-label") == (
            "Dogs nsubj of bark, bark root, . punct of bark"
        )
        assert page.locator(".column .tag").all_inner_texts() == ["NOUN", "VERB", "PUNCT"] * 3
        page.get_by_role("region", name="sentence 2").get_by_role("button", name="Dogs, dog, NOUN").click()
        page.wait_for_selector("#why >> text=/Tag NOUN N rather than/")
        page.wait_for_selector("#why >> text=/Head “bark” rather than/")
        assert page.locator("#why .terms li").count() >= 4
        page.get_by_label("text to analyse").fill(" ")
        page.wait_for_selector("#why >> text=There is no text yet")
        page.get_by_label("text to analyse").fill("<b>Dogs</b> bark.")
        until(page, "document.querySelectorAll('.analysed').length > 0")
        assert page.locator("#results b").count() == 0
        page.close()


def test_classify_see_the_label_and_the_marked_words(page: Any) -> None:
    open_panel(page, "classify")
    page.get_by_label("text to classify").fill("The sailors rowed the boat.")
    until(page, "document.querySelector('#labels button').innerText.startsWith('harbour')")
    until(page, "document.querySelector('#marked').innerText === 'the sailors rowed the boat.'")
    page.wait_for_selector("#why >> text=Why “harbour”?")
    assert "boat." in page.locator("#marked .plus").all_inner_texts()
    assert page.locator("#why .terms li").count() >= 3
    picture(page, "classify")
    page.locator("#labels button", has_text="kitchen").click()
    page.wait_for_selector("#why >> text=Why “kitchen”?")
    assert "boat." in page.locator("#marked .minus").all_inner_texts()
    page.get_by_label("text to classify").fill("<b>soup</b>")
    until(page, "document.querySelector('#labels button').innerText.startsWith('kitchen')")
    assert page.locator("#marked b").count() == 0


def test_a_classifier_is_trained_from_a_file(page: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("__label__ham lunch at noon\n__label__spam cheap pills now\n" * 40)
    open_panel(page, "train")
    page.get_by_label("a text classifier").check()
    page.locator("input[type=file]").set_input_files(tmp_path / "mine.txt")
    until(page, "!document.querySelector('button.main').disabled")
    page.get_by_label("name").fill("letters")
    page.get_by_role("button", name="train", exact=True).click()
    page.wait_for_selector("text=letters is ready")
    page.get_by_text("try it").click()
    page.wait_for_selector("text=Classify text")
    page.get_by_label("text to classify").fill("cheap lunch pills")
    until(page, "document.querySelector('#labels button').innerText.startsWith('spam')")


def test_bars_move_while_one_types(page: Any) -> None:
    open_panel(page, "predict")
    first = page.locator(".bars").first
    page.wait_for_selector(".bars li")
    before = first.inner_text()
    page.get_by_label("words before").fill("The sailors did")
    until(page, "document.querySelector('.bars').innerText.startsWith('not')")
    assert first.inner_text() != before
    assert page.locator(".bars").count() == 2
    page.locator(".bars button").first.click()
    page.wait_for_selector("text=Why “not”?")
    assert page.locator(".terms li").count() >= 3
    picture(page, "predict")
    page.get_by_label("text to score").fill("the xyzzy did not")
    page.wait_for_selector(".surprise .unknown")
    assert page.locator(".surprise span").count() == 5


def test_the_slider_moves_along_the_path(page: Any, tmp_path: Path) -> None:
    open_panel(page, "rerank")
    page.wait_for_selector("#ranking tbody tr")
    page.wait_for_selector("#runs i")
    picture(page, "rerank")
    slider, errors = page.locator("#slider"), page.locator("#figures")
    chosen = errors.inner_text()
    winner = page.locator("#ranking tr.wins").inner_text()
    box = slider.bounding_box()
    page.mouse.move(box["x"] + 0.67 * box["width"], box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 2, box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    until(page, "document.querySelector('#figures').innerText.includes('0 of')")
    page.wait_for_selector("text=The first guess of the base model still wins")
    assert errors.inner_text() != chosen
    assert page.locator("#ranking tr.wins").inner_text() != winner
    (tmp_path / "mine.txt").write_text("#\ta b\n-1\tb a\n-1\ta b\n\n#\tc\n0\tc\n")
    page.locator("input[type=file]").set_input_files(tmp_path / "mine.txt")
    page.wait_for_selector("text=mine.txt")
    until(page, "document.querySelectorAll('#ranking tbody tr').length <= 2")


def test_train_watch_download_inspect(page: Any, tmp_path: Path) -> None:
    open_panel(page, "train")
    page.get_by_role("button", name="use the sample file").click()
    until(page, "!document.querySelector('button.main').disabled")
    page.get_by_label("name").fill("mine")
    page.get_by_label("passes").fill("12")
    page.get_by_role("button", name="train", exact=True).click()
    page.wait_for_selector("text=mine is ready")
    assert page.locator("#curves svg path").count() == 3
    picture(page, "train")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="download the model").click()
    file = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(file)
    done = subprocess.run(
        [sys.executable, "-m", "epigram", "inspect", str(file)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "strongest features" in done.stdout
    page.get_by_text("try it").click()
    page.wait_for_selector("text=Tag text")
    assert page.locator("select[aria-label=tagger]").input_value() == "mine"
    page.get_by_role("button", name="soup").click()
    page.wait_for_selector("#why .terms li")


def test_a_training_is_cancelled(page: Any) -> None:
    open_panel(page, "train")
    page.get_by_label("a language model").check()
    page.get_by_role("button", name="use the sample file").click()
    until(page, "!document.querySelector('button.main').disabled")
    page.get_by_role("button", name="train", exact=True).click()
    page.get_by_role("button", name="cancel").click()
    page.wait_for_selector("#status >> text=cancelled")


def test_weights_are_searched_sorted_and_paged(page: Any) -> None:
    open_panel(page, "models")
    page.get_by_role("button", name="log-linear").click()
    # The weights of the first model may be there already.
    page.wait_for_selector("#detail h1 >> text=log-linear")
    page.wait_for_selector("#weights >> text=1 to 25")
    picture(page, "models")
    page.get_by_role("button", name="after").click()
    page.wait_for_selector("#weights >> text=26 to 50")
    page.get_by_label("search weights").fill("sailor")
    page.wait_for_selector("#weights >> text=1 to ")
    until(
        page,
        "[...document.querySelectorAll('#weights tbody tr')].every(row => row.innerText.includes('sailor'))",
    )
    page.get_by_label("order of weights").select_option("smallest")
    page.wait_for_timeout(500)
    values = [float(text) for text in page.locator("#weights td.number").all_inner_texts()]
    assert values == sorted(values)


def test_text_is_never_markup(page: Any) -> None:
    open_panel(page, "tag")
    page.get_by_label("text to tag").fill("<img src=x onerror=alert(1)> <b>bold</b>")
    until(page, "document.querySelector('.token')?.innerText === '<'")
    assert page.locator("#results img, #results b").count() == 0
    assert page.evaluate("document.querySelectorAll('script').length") == 1


def test_nothing_overflows_and_everything_can_be_read(browser: Any, server: Running) -> None:
    context = browser.new_context(
        viewport={"width": 360, "height": 740}, base_url=server.url, color_scheme="dark"
    )
    page = context.new_page()
    page.set_default_timeout(30_000)
    for name in PANELS:
        open_panel(page, name)
        page.wait_for_load_state("networkidle")
        if name == "tag":
            page.locator(".token").nth(2).click()
            page.wait_for_selector("#why .terms")
        for width, theme in ((360, "dark"), (360, "light"), (1440, "light"), (1440, "dark")):
            page.set_viewport_size({"width": width, "height": 800})
            if page.evaluate("document.documentElement.dataset.theme") != theme:
                page.get_by_label("dark or light").click()
            page.wait_for_timeout(200)  # colours fade
            assert page.evaluate(CHECKS) == [], (name, width, theme)
            if (name, width, theme) == ("tag", 360, "dark"):
                picture(page, "phone")
    context.close()


def test_a_token_is_taken_from_the_address(browser: Any, cache: Path, files: dict[str, Path]) -> None:
    with Running("--port", "0", "--token", "new", str(files["log-linear"]), cache=cache) as guarded:
        page = browser.new_page()
        page.goto(guarded.address)
        page.wait_for_selector("text=No converter is loaded")
        assert "token" not in page.url
        page.get_by_role("link", name="Predict").click()
        page.wait_for_selector(".bars li")
        page.close()


def test_the_page_says_whether_its_converter_is_a_toy(
    browser: Any, files: dict[str, Path], cache: Path
) -> None:
    with Running("--port", "0", cache=cache) as running:
        page = browser.new_page(base_url=running.url)
        open_panel(page, "type")
        said = page.locator("#toy").inner_text()
        page.close()
    assert ("a toy" in said) == ("japanese" not in installed_models())
