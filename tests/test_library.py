"""``import quorum``: short names for columns and tables, and the older names of its modules."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import quorum
from quorum.metrics import InvalidInput
from quorum.statistics.inputs import BadShape, BadValue
from tests.refusals import refuses
from tests.statistics.test_alpha_and_gwet import NAMES, TABLES, with_nan

# Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", example C: the figures that he prints.
EXAMPLE = with_nan(TABLES[NAMES.index("krippendorff-2011")]["data"])
PRINTED = {"nominal": 0.743, "ordinal": 0.815, "interval": 0.849, "ratio": 0.797}


def judgments_of(table: np.ndarray) -> pd.DataFrame:
    rater, unit = np.nonzero(~np.isnan(table))
    return pd.DataFrame(
        {"unit": [f"u{code}" for code in unit], "worker": rater, "value": table[rater, unit].astype(int)}
    )


@pytest.mark.parametrize("level", PRINTED)
def test_alpha_of_tables_is_krippendorffs_own(level: str) -> None:
    frame = judgments_of(EXAMPLE)
    renamed = frame.rename(columns={"unit": "item", "worker": "rater", "value": "grade"})
    results = [
        quorum.alpha(EXAMPLE, level),
        quorum.alpha(frame, level),
        quorum.alpha(pa.table(frame), level),
        quorum.alpha(renamed, level, unit="item", worker="rater", value="grade"),
    ]
    assert {round(result.value, 3) for result in results} == {PRINTED[level]}
    assert len({(round(result.low, 9), round(result.high, 9)) for result in results}) == 1


def test_kappa_of_a_table_is_that_of_its_two_workers_where_both_answered() -> None:
    """Cohen 1960 by hand: they agree on 3 of 4, by chance on .5."""
    first, second = [1, 2, 1, 2, 1], [1, 2, 1, 1, np.nan]
    of_table = quorum.kappa(judgments_of(np.array([first, second], float)))
    assert of_table.value == pytest.approx(0.5)
    assert quorum.kappa(first[:4], second[:4]).value == pytest.approx(0.5)
    assert of_table.clusters == {"item": 4}


def test_kappa_of_three_workers_is_fleiss() -> None:
    """Fleiss 1971 by hand: units of 3:0, 0:3 and 2:1; agreement 7/9, by chance 41/81."""
    frame = judgments_of(np.array([[1, 2, 1], [1, 2, 1], [1, 2, 2]], float))
    assert quorum.kappa(frame).value == pytest.approx((7 / 9 - 41 / 81) / (40 / 81))
    with pytest.raises(BadShape, match="3 workers"):
        quorum.kappa(frame, weights="linear")


def test_votes_and_models_give_a_row_for_each_unit() -> None:
    frame = judgments_of(np.array([[1, 2, 1, 2], [1, 2, 1, 1], [1, 2, 2, np.nan]], float))
    votes = quorum.majority_vote(frame)
    assert votes.to_dict("list") == {
        "unit": ["u0", "u1", "u2", "u3"],
        "winner": pytest.approx([1, 2, 1, np.nan], nan_ok=True),
        "share": pytest.approx([1, 1, 2 / 3, 1 / 2]),
        "votes": [3, 3, 3, 2],
    }
    for model in (quorum.dawid_skene, quorum.glad, quorum.mace):
        of_table = model(pa.table(frame))
        of_columns = model(frame.unit, frame.worker, frame.value)
        assert isinstance(of_table, pa.Table)
        assert of_table["winner"].to_pylist()[:3] == of_columns.values()[:3] == [1, 2, 1]
        np.testing.assert_allclose(of_table["probability"], of_columns.posterior.max(axis=1))


def test_strengths_of_a_table_stand_from_the_strongest_down() -> None:
    """Two items: the log of the odds of 3 wins to 1."""
    frame = pd.DataFrame({"first": list("aaab"), "second": list("bbba"), "winner": [1, 1, 2, 2]})
    strengths = quorum.bradley_terry(frame)
    assert list(strengths["item"]) == ["a", "b"]
    assert strengths.log_strength[0] - strengths.log_strength[1] == pytest.approx(np.log(3))
    assert quorum.bradley_terry([[0, 3], [1, 0]]).log_strength[0] == pytest.approx(np.log(3) / 2)
    with pytest.raises(BadValue):
        quorum.bradley_terry(frame[:2])


def test_scores_stand_beside_the_texts_of_a_table() -> None:
    candidates = ["a dog runs", "two cats sleep"]
    references = [["a dog is running", "the dog runs"], ["two cats are asleep"]]
    frame = pd.DataFrame({"image": ["a", "b"], "candidate": candidates, "references": references})
    of_table = quorum.score(frame, metrics=["bleu-4", "rouge-l"])
    of_texts = quorum.score(candidates, references, ["bleu-4", "rouge-l"])
    assert list(of_table.columns) == ["image", "candidate", "references", "bleu-4", "rouge-l"]
    for name, scores in of_texts.scores.items():
        np.testing.assert_array_equal(of_table[name], scores.images)
    with pytest.raises(InvalidInput, match="column references"):
        quorum.score(frame, references)
    with pytest.raises(InvalidInput, match="references"):
        quorum.score(frame.assign(references="one text"))


def test_of_an_export_only_judgments_that_count_do() -> None:
    """As `quorum agreement` takes a judgments file: no control items, nothing unused, nothing without a value."""
    counted = judgments_of(EXAMPLE).assign(used=True, control=False)
    others = [
        {"unit": "u0", "worker": 7, "value": 9, "used": False, "control": False},
        {"unit": "c0", "worker": 0, "value": 1, "used": True, "control": True},
        {"unit": "u0", "worker": 8, "value": None, "used": True, "control": False},
    ]
    export = pa.Table.from_pylist([*counted.to_dict("records"), *others])
    assert round(quorum.alpha(export).value, 3) == PRINTED["nominal"]
    assert quorum.majority_vote(export).num_rows == counted["unit"].nunique()


def test_what_stands_beside_a_table_is_refused() -> None:
    frame = judgments_of(EXAMPLE)
    for call in (
        lambda: quorum.kappa(frame, "linear"),
        lambda: quorum.majority_vote(frame, frame.value),
        lambda: quorum.mace(frame, frame.worker),
    ):
        with pytest.raises(BadShape, match="beside a table"):
            call()
    with pytest.raises(BadShape, match="another name"):
        quorum.glad(frame.rename(columns={"unit": "winner"}), unit="winner")


def test_a_missing_column_is_named() -> None:
    frame = judgments_of(EXAMPLE)
    with refuses(BadShape, "unit", "worker", "value", "rater"):
        quorum.alpha(frame, worker="rater")
    with pytest.raises(BadShape, match="values is missing"):
        quorum.dawid_skene(frame.unit, frame.worker)
    with pytest.raises(BadShape, match="second is missing"):
        quorum.kappa([1, 2])


def test_older_names_serve_and_nothing_loads_django() -> None:
    program = (
        "import sys, quorum\n"
        "assert 'numpy' not in sys.modules and 'alpha' in dir(quorum)\n"
        "assert quorum.tables.alpha is quorum.alpha\n"
        "from evaluation.metrics import score\n"
        "from evaluation.statistics.agreement import krippendorff_alpha, cohen_kappa, fleiss_kappa\n"
        "from evaluation.statistics.aggregation import majority_vote, dawid_skene, bradley_terry, borda_count\n"
        "from evaluation.statistics.significance import mcnemar_test, randomization_test, bootstrap_interval\n"
        "from evaluation.statistics.ranking import recall_at_k, success_at_k, median_rank, r_precision\n"
        "assert score is quorum.metrics.score\n"
        "assert dawid_skene is quorum.statistics.aggregation.dawid_skene\n"
        "quorum.alpha([[1, 2], [1, 2]])\n"
        "assert 'django' not in sys.modules and 'pandas' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_what_the_documentation_names_is_there_after_import_quorum_alone() -> None:
    pages = [Path("README.md"), *Path("docs").rglob("*.md")]
    paths = {
        path
        for page in pages
        for path in re.findall(r"`(quorum(?:\.\w+)+)[`(]", page.read_text(encoding="utf-8"))
        if path.split(".")[1] in ("metrics", "statistics", "tables")
    }
    program = f"""
import sys
for path in {sorted(paths)!r}:
    for name in [name for name in sys.modules if name.split(".")[0] == "quorum"]:
        del sys.modules[name]  # what was imported for one path must not help another
    import quorum
    eval(path)
"""
    assert {"quorum.statistics.agreement", "quorum.metrics.keywords"} <= paths
    subprocess.run([sys.executable, "-c", program], check=True)
