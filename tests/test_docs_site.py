"""The documentation as a site: it builds without a warning, holds the made pages, and can be searched."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evaluation.metrics.registry import METRICS
from evaluation.statistics.catalogue import STATISTICS
from quorum.words import WORDS

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
    assert [words for words in WORDS if f'id="{words.replace(" ", "-")}"' not in commands] == []
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
