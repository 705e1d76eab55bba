"""The Python blocks of docs/content-and-keywords.md run as they are, one after the other."""

import re
import runpy
from pathlib import Path

import pytest

from evaluation.metrics import content_baselines as content
from evaluation.metrics import keyword_baselines as keywords

PAGE = Path(__file__).resolve().parents[2] / "docs/content-and-keywords.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)


def test_the_recipes_of_content_selection_and_keywords_score_every_measure_and_baseline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "lst_test.gold").write_text("tree.n 1 :: oak 2;elm 1;\n", encoding="utf-8")
    (tmp_path / "system.oot").write_text("tree.n 1 ::: oak;elm\n", encoding="utf-8")
    (tmp_path / "gold.jsonl").write_text('{"image": "a.jpg", "stems": {"dog": 2}}\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "page.py").write_text("\n".join(BLOCK.findall(PAGE.read_text("utf-8"))), encoding="utf-8")
    runpy.run_path("page.py", {"guesses": {"a.jpg": ["Dogs"]}})
    table = {line.split("|")[0]: float(line.split()[-1]) for line in capsys.readouterr().out.splitlines()}
    assert set(table) == {*content.CALLS, *keywords.CALLS}
    assert all(0 <= figure <= 1 for figure in table.values())
