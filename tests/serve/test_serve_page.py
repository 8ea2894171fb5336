"""The live page in a real browser: what it shows and when, access, accessibility, and no requests to other hosts.

Needs Chromium and Playwright's Python package (`make test-page` installs the latter); without them it is skipped.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: make test-page installs it")

from page_server import PageServer
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium (Debian: apt-get install chromium)")
CHECKS = (Path(__file__).parent / "page_checks.js").read_text(encoding="utf-8")
AWAY = re.compile(r"Failed to load resource: (net::ERR_|.*status of 503)")  # what Chromium says while a server is away


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServer]:
    """A server with a champion and a challenger that have learned a little."""
    server = PageServer(tmp_path_factory.mktemp("page"))
    server.start()
    try:
        server.create("houses")
        server.create("bold", stream="houses", model_type="linear")
        server.learn("houses", 300)
        server.label_later("houses", 20)
        yield server
    finally:
        server.stop()


class Seen:
    """The console messages of a page and the addresses that it requested."""

    def __init__(self, page: Page) -> None:
        self.messages: list[str] = []
        self.requested: list[str] = []
        page.on("console", lambda message: self.messages.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.messages.append(f"error: {error}"))
        page.on("request", lambda request: self.requested.append(request.url))


@pytest.fixture
def context(browser: Browser, request: pytest.FixtureRequest) -> Iterator[BrowserContext]:
    context = browser.new_context(**getattr(request, "param", {"viewport": {"width": 1280, "height": 900}}))
    context.set_default_timeout(10_000)
    yield context
    context.close()


def opened(context: BrowserContext, server: PageServer) -> tuple[Page, Seen]:
    page = context.new_page()
    seen = Seen(page)
    page.goto(server.url)
    expect(page.locator("#connection")).to_have_text("Live")
    expect(tile(page, "examples")).not_to_have_text("0")
    return page, seen


def tile(page: Page, name: str) -> Locator:
    return page.locator(f'.tile[data-name="{name}"] b')


def complaints(page: Page) -> list[str]:
    found: list[str] = page.evaluate(CHECKS)
    return found


PHONE = {"viewport": {"width": 360, "height": 740}}
DARK = {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"}


def test_a_server_without_models_says_how_to_make_one_and_shows_it(context: BrowserContext, tmp_path: Path) -> None:
    server = PageServer(tmp_path)
    server.start()
    try:
        page = context.new_page()
        seen = Seen(page)
        page.goto(server.url)
        expect(page.get_by_role("heading", level=1)).to_have_text("No model yet")
        commands = page.locator("#create").inner_text()
        assert complaints(page) == []
        assert f"127.0.0.1:{server.port}/v1/models/houses" in commands
        subprocess.run(["sh", "-e"], input=commands.encode(), check=True, stdout=subprocess.DEVNULL, timeout=20)
        expect(page.get_by_role("heading", level=1)).to_have_text("houses", timeout=5000)
        expect(tile(page, "examples")).to_have_text("1")
        assert seen.messages == []
    finally:
        server.stop()


def test_the_page_shows_what_the_server_has_learned(context: BrowserContext, server: PageServer) -> None:
    page, seen = opened(context, server)
    examples = server.ask("GET", "v1/models/houses")["examples"]
    expect(tile(page, "examples")).to_have_text(f"{examples:,}")
    expect(tile(page, "waiting")).to_have_text("1")
    expect(tile(page, "score")).to_have_text(re.compile(r"\d+\.\d+%"))
    models = page.get_by_role("region", name="Models of this stream")
    expect(models.get_by_role("row")).to_have_count(3)
    expect(models.get_by_role("row").nth(1)).to_contain_text("champion")
    effects = page.get_by_role("region", name="Effects of features")
    expect(effects.get_by_role("rowheader").first).to_have_text("area")
    for title in ("Loss", "Throughput", "Since the beginning"):
        expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
    assert seen.messages == []
    assert [url for url in seen.requested if not url.startswith(server.url)] == []


def test_every_tile_explains_itself_to_mouse_and_keyboard(context: BrowserContext, server: PageServer) -> None:
    page, _ = opened(context, server)
    expect(tile(page, "skill")).to_be_visible()
    assert page.locator(".tile").count() == 6
    for box in page.locator(".tile").all():
        tip = box.get_by_role("tooltip", include_hidden=True)
        expect(tip).to_be_hidden()
        box.hover()
        expect(tip).to_be_visible()
        assert complaints(page) == []
        page.mouse.move(0, 0)
        expect(tip).to_be_hidden()
        box.get_by_role("button").focus()
        expect(tip).to_be_visible()
        expect(box.get_by_role("button")).to_have_accessible_description(re.compile(r"\w{3,} .*\."))
        page.keyboard.press("Escape")
        expect(tip).to_be_hidden()


def test_a_model_for_numbers_shows_no_classes(context: BrowserContext, tmp_path: Path) -> None:
    server = PageServer(tmp_path)
    server.start()
    try:
        server.create("prices")
        server.learn_prices("prices", 30)
        page, seen = opened(context, server)
        expect(page.locator("#facts")).to_contain_text("regression")
        expect(page.locator('.tile[data-name="score"]')).to_contain_text("RMSE")
        server.learn_prices("prices", 5)
        expect(page.locator('.tile[data-name="score"]')).to_contain_text("over the last 35 rows")
        expect(page.get_by_role("region", name="Recent rows").get_by_role("columnheader").last).to_have_text("Error")
        text = page.locator("main").inner_text()
        assert re.findall(r"(?i)accuracy|\bclass|\bfalse\b|\btrue\b|log loss", text) == []
        assert complaints(page) == []
        assert seen.messages == []
    finally:
        server.stop()


def test_rows_are_seen_within_two_seconds(context: BrowserContext, server: PageServer) -> None:
    page, seen = opened(context, server)
    for _ in range(3):
        before = server.ask("GET", "v1/models/houses")["examples"]
        server.learn("houses", 5)
        expect(tile(page, "examples")).to_have_text(f"{before + 5:,}", timeout=2000)
    seq = server.ask("GET", "v1/models/houses")["seq"]
    expect(page.get_by_role("button", name="Explain row").first).to_have_text(re.compile(r"[\d,]+"))
    newest = page.get_by_role("region", name="Recent rows").get_by_role("rowheader").first
    assert int(newest.inner_text().replace(",", "")) <= seq
    assert seen.messages == []


def test_the_page_survives_a_restart_of_the_server(context: BrowserContext, tmp_path: Path) -> None:
    server = PageServer(tmp_path)
    server.start()
    try:
        server.create("houses")
        server.learn("houses", 20)
        page, seen = opened(context, server)
        expect(tile(page, "examples")).to_have_text("20")
        server.stop()
        expect(page.locator("#connection")).to_have_text("Connection lost, trying again")
        server.start()
        expect(page.locator("#connection")).to_have_text("Live", timeout=8000)
        expect(page.get_by_text("Connected again.")).to_be_visible()
        server.learn("houses", 7)
        expect(tile(page, "examples")).to_have_text("27", timeout=2000)
        assert [message for message in seen.messages if not AWAY.search(message)] == []
    finally:
        server.stop()


@pytest.mark.parametrize(
    "context", [DARK, {**DARK, "color_scheme": "light"}, PHONE, {**PHONE, "color_scheme": "dark"}], indirect=True
)
def test_everything_has_a_name_and_can_be_read(context: BrowserContext, server: PageServer) -> None:
    page, _ = opened(context, server)
    expect(page.get_by_role("region", name="Recent rows")).to_be_visible()
    assert complaints(page) == []
    for toggle in page.get_by_role("button", name="as a table").all():
        toggle.click()
    expect(page.get_by_role("region", name="Loss, newest first")).to_be_visible()
    assert complaints(page) == []
    page.get_by_role("button", name="Explain row").first.click()
    expect(page.get_by_role("region", name="What each feature adds to the score")).to_be_visible()
    assert complaints(page) == []


def test_light_and_dark_follow_the_system_until_someone_chooses(context: BrowserContext, server: PageServer) -> None:
    page, _ = opened(context, server)

    def brightness() -> float:
        color = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(float, re.findall(r"\d+", color)[:3])) / 3

    assert brightness() > 200
    page.emulate_media(color_scheme="dark")
    assert brightness() < 60
    page.get_by_role("button", name="Change between light and dark").click()
    assert brightness() > 200
    page.reload()
    assert brightness() > 200


@pytest.mark.parametrize("context", [PHONE], indirect=True)
def test_a_phone_shows_all_of_it_without_moving_sideways(context: BrowserContext, server: PageServer) -> None:
    page, _ = opened(context, server)
    expect(page.get_by_role("region", name="Recent rows")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.get_by_role("button", name="Explain row").first.click()
    expect(page.get_by_role("region", name="What each feature adds to the score")).to_be_visible()
    assert page.evaluate("document.querySelector('dialog[open]').getBoundingClientRect().right") <= 360


def test_an_example_is_explained_by_parts_that_add_up(context: BrowserContext, server: PageServer) -> None:
    page, seen = opened(context, server)
    page.get_by_role("button", name="Explain row").first.press("Enter")
    dialog = page.get_by_role("dialog")
    parts = dialog.get_by_role("region", name="What each feature adds to the score")
    expect(parts.get_by_role("rowheader").filter(has_text="area")).to_be_visible()
    adds = [float(cell.inner_text().replace("−", "-")) for cell in parts.locator("tbody td:last-child").all()]
    score = re.search(r"Its score, (\S+), is", dialog.inner_text())
    assert score is not None
    assert sum(adds) == pytest.approx(float(score[1].replace("−", "-")), rel=0.01, abs=0.01)
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    assert seen.messages == []


def test_promoting_asks_first(context: BrowserContext, tmp_path: Path) -> None:
    server = PageServer(tmp_path)
    server.start()
    try:
        server.create("houses")
        server.create("bold", stream="houses", model_type="linear")
        server.learn("houses", 20)
        page, seen = opened(context, server)
        page.get_by_role("button", name="Promote bold").click()
        page.get_by_role("button", name="Cancel").click()
        assert server.ask("GET", "v1/models/bold")["role"] == "challenger"
        page.get_by_role("button", name="Promote bold").click()
        page.get_by_role("dialog").get_by_role("button", name="Promote").click()
        expect(page.get_by_text("bold is the champion now.")).to_be_visible()
        expect(page.get_by_role("button", name="Promote houses")).to_be_visible()
        assert server.ask("GET", "v1/models/bold")["role"] == "champion"
        expect(page.locator("#facts")).to_contain_text("challenger")
        metrics = server.ask("GET", "v1/models/houses/metrics?model=houses")
        assert tile(page, "score").inner_text() == f"{100 * metrics['progressive']['accuracy']:.1f}%"
        page.get_by_role("combobox", name="Model").select_option("bold")
        expect(page.get_by_role("heading", level=1)).to_have_text("bold")
        expect(page.locator("#facts")).to_contain_text("champion")
        assert seen.messages == []
    finally:
        server.stop()


def test_a_chart_is_also_a_table(context: BrowserContext, server: PageServer) -> None:
    page, _ = opened(context, server)
    server.learn("houses", 5)
    toggle = page.get_by_role("button", name="Throughput as a table")
    toggle.click()
    expect(toggle).to_have_attribute("aria-pressed", "true")
    values = page.get_by_role("region", name="Throughput, newest first")
    expect(values.get_by_role("columnheader")).to_have_text(["Time", "learned", "predicted"])
    toggle.click()
    expect(values).to_be_hidden()


def test_a_server_with_tokens_asks_for_one(context: BrowserContext, tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    command = [sys.executable, "-m", "unitless", "serve", "--token-file", str(file), "--new-token"]
    admin, reader = (
        re.findall(r"\S{16,}", subprocess.run([*command, role], check=True, capture_output=True, text=True).stdout)[-1]
        for role in ("admin", "read")
    )
    server = PageServer(tmp_path / "data", "--token-file", str(file), token=admin)
    server.start()
    try:
        server.create("houses")
        server.create("bold", stream="houses", model_type="linear")
        server.learn("houses", 10)
        page = context.new_page()
        page.goto(server.url)
        ask = page.get_by_role("dialog", name="Access token")
        expect(ask).to_be_visible()
        assert complaints(page) == []
        ask.get_by_role("textbox", name="Token").fill("not this one")
        ask.get_by_role("button", name="Use this token").click()
        expect(ask).to_contain_text("does not know this token")
        ask.get_by_role("textbox", name="Token").fill(reader)
        ask.get_by_role("button", name="Use this token").click()
        expect(tile(page, "examples")).to_have_text("10")
        page.get_by_role("button", name="Promote bold").click()
        page.get_by_role("dialog").get_by_role("button", name="Promote").click()
        expect(page.get_by_text("Your token may not promote models")).to_be_visible()
        page.reload()
        expect(tile(page, "examples")).to_have_text("10")
        expect(ask).to_be_hidden()
    finally:
        server.stop()


def test_many_pages_see_the_same(browser: Browser, server: PageServer) -> None:
    contexts = [browser.new_context() for _ in range(3)]
    pages = [opened(context, server)[0] for context in contexts]
    feeding = threading.Thread(target=server.learn, args=("houses", 25))
    before = server.ask("GET", "v1/models/houses")["examples"]
    feeding.start()
    feeding.join()
    for page in pages:
        expect(tile(page, "examples")).to_have_text(f"{before + 25:,}", timeout=2000)
    for context in contexts:
        context.close()


def test_a_bandit_shows_its_rewards_and_actions(context: BrowserContext, tmp_path: Path) -> None:
    server = PageServer(tmp_path)
    server.start()
    try:
        server.create("names", task="bandit", model_type="linear")
        server.decide("names", 120)
        page, seen = opened(context, server)
        expect(tile(page, "examples")).to_have_text("119")
        known = server.ask("GET", "v1/models/names/metrics")["bandit"]
        expect(tile(page, "waiting")).to_have_text("1")
        assert known["random"] < known["mean_reward"]
        for name, about in (
            ("score", "Mean of all rewards"),
            ("baseline", "best single action"),
            ("skill", "random actions"),
        ):
            expect(page.locator(f"#about-{name}")).to_contain_text(about)
            page.locator(f"[data-name={name}] button").hover()
            expect(page.locator(f"#about-{name}")).to_be_visible()
        table = page.get_by_role("region", name="Actions")
        expect(table.get_by_role("rowheader")).to_have_text([one["action"] for one in known["actions"]])
        expect(page.get_by_role("heading", name="Average reward")).to_be_visible()
        for text in ("best single action", "random actions", "all rewards"):
            expect(page.locator("#charts .legend").first).to_contain_text(text)
        expect(page.get_by_role("heading", name="Recent rows")).to_be_hidden()
        expect(page.get_by_role("heading", name="Accuracy")).to_be_hidden()
        expect(page.get_by_role("heading", name="Drift")).to_be_hidden()
        server.decide("names", 5)
        expect(tile(page, "waiting")).to_have_text("2")
        assert complaints(page) == []
        assert seen.messages == []
        page.screenshot(path=str(tmp_path / "page.png"), full_page=True)
    finally:
        server.stop()
