"""The documentation as a site: it builds without a warning, holds the made pages, and can be searched."""

import json
import os
import re
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, expect

from config.commands import all_commands
from quorum.metrics.registry import METRICS
from quorum.statistics.catalogue import STATISTICS

pytestmark = pytest.mark.long  # `make docs` builds it, too
ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    environment = os.environ | {
        "DATA_DIR": str(tmp_path_factory.mktemp("data")),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "NO_MKDOCS_2_WARNING": "1",
    }
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def test_every_page_is_in_the_menu_and_every_command_metric_and_statistic_on_a_page(site: Path) -> None:
    """A strict build warns of pages without a place, of lost links and of lost headings."""
    commands = (site / "reference" / "commands.html").read_text("utf-8")
    assert [
        words for words in all_commands().names if f'id="{words.replace(" ", "-")}"' not in commands
    ] == []
    # the section of a feature's page that shows `crowd panel`
    assert 'href="../contrib/panel_lists.html#whom-to-pay"' in commands
    metrics = (site / "reference" / "metrics.html").read_text("utf-8")
    assert [name for name in METRICS if f"<code>{name}</code>" not in metrics] == []
    statistics = (site / "reference" / "statistics.html").read_text("utf-8")
    assert [one.name for one in STATISTICS.values() if f"<code>{one.name}</code>" not in statistics] == []


def test_it_can_be_searched_and_asks_nobody_else_for_anything(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    assert any("Krippendorff" in entry["text"] for entry in index["docs"])
    page = (site / "index.html").read_text("utf-8")
    assert 'src="http' not in page
    assert 'rel="stylesheet" href="http' not in page


QUESTIONS = {
    "how many judgments do I need": "contrib/planning.html",
    "LaTeX table": "reports.html",
    "right to left": "languages.html",
    "exclude careless workers": "quality.html",
    "pay workers": "crowds/index.html",
    "krippendorff alpha": "statistics.html",
    "which system is better": "contrib/arena.html",
}


def test_the_page_that_answers_is_the_first_that_the_search_shows(site: Path, browser: Browser) -> None:
    handler = partial(SimpleHTTPRequestHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, browser.new_page() as page:
        Thread(target=server.serve_forever, daemon=True).start()
        for question, answer in QUESTIONS.items():
            page.goto(f"http://127.0.0.1:{server.server_port}/index.html?q={quote(question)}")
            link = page.locator(".md-search-result__link").first
            expect(link).to_have_attribute("href", re.compile(rf"/{re.escape(answer)}([?#]|$)"))
        server.shutdown()
