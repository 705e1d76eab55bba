"""Rows that lie two lists or objects deep are read by the key ``rows`` and by paths."""

import json
from pathlib import Path

from judgments.importers import ColumnMapping, open_judgments

# as W4ngatang/qags has them
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


def test_objects_within_objects_give_their_keys(tmp_path: Path) -> None:
    """As in the human evaluation of WebNLG/challenge-2020: item -> worker -> criterion."""
    record = {"3": {"ann": {"Fluency": 0}, "ben": {"Fluency": 78}}, "29": {"ann": {"Fluency": 100}}}
    path = tmp_path / "primary.json"
    path.write_text(json.dumps(record), encoding="utf-8")
    columns = {"image": "key1", "first_text": "{key1}", "worker": "key2", "value": "*.Fluency"}
    mapping = ColumnMapping.model_validate({"rows": [["*"], ["*"]], "columns": columns})
    rows = open_judgments("jsonl", path, protocol="slider", mapping=mapping).judgments()
    assert [(row.image, row.worker, row.value) for row in rows] == [
        ("3", "ann", 0),
        ("3", "ben", 78),
        ("29", "ann", 100),
    ]
