"""Rows that lie two lists deep, as in the judgments of W4ngatang/qags, are read by the keys ``rows`` and paths."""

import json
from pathlib import Path

from judgments.importers import ColumnMapping, open_judgments

LINE = {
    "article": "A dog runs.",
    "summary": [
        {"sentence": "A dog.", "responses": [{"by": 0, "said": "yes"}, {"by": 3, "said": "no"}]},
        {"sentence": "A cat.", "responses": [{"by": 0, "said": "no"}]},
    ],
}
MAPPING = ColumnMapping.model_validate(
    {
        "rows": [["summary"], ["summary.responses"]],
        "columns": {
            "image": "article",
            "first_text": "summary.sentence",
            "worker": "summary.responses.by",
            "value": "summary.responses.said",
        },
        "values": {"yes": 1, "no": 0},
    }
)


def test_a_path_goes_on_in_the_member_that_a_row_was_made_of(tmp_path: Path) -> None:
    path = tmp_path / "qags.jsonl"
    path.write_text(json.dumps(LINE), encoding="utf-8")
    rows = open_judgments("jsonl", path, protocol="relevance", mapping=MAPPING).judgments()
    assert [(row.first_text, row.worker, row.value) for row in rows] == [
        ("A dog.", "0", 1),
        ("A dog.", "3", 0),
        ("A cat.", "0", 0),
    ]
