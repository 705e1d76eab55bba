"""Metrics of other packages: found by their entry points, loaded when named, and signed with package and version."""

import sys
from pathlib import Path

import numpy as np
import pytest

from evaluation.metrics import BadSignature, PackageFailed, UnknownName, call_of, score
from evaluation.metrics.registry import metric_named, package_metrics, package_names

# The whole of a package: F of character trigrams with the best reference, a small relative of chrF (Popović 2015).
MODULE = """
from evaluation.metrics.registry import Option, text_metric


def grams(text, n):
    return {text[start : start + n] for start in range(len(text) - n + 1)}


def overlap(candidates, references, settings):
    n = settings["n"]
    scores = []
    for candidate, own in zip(candidates, references, strict=True):
        found = grams(candidate, n)
        best = 0.0
        for reference in own:
            wanted = grams(reference, n)
            if found and wanted:
                best = max(best, 2 * len(found & wanted) / (len(found) + len(wanted)))
        scores.append(best)
    return scores


def failing(candidates, references, settings):
    return 1 / 0


metric = text_metric("trigrams", "F of character n-grams", overlap, options={"n": Option(3, low=1, high=9)})
broken = text_metric("broken", "divides by zero", failing)
short = text_metric("short", "forgets a caption", lambda *given: [1.0])
refused = text_metric("refused", "asks for an option", lambda *given: metric.settings({"n": 0}))
other = "no metric"
"""
POINTS = """[quorum.metrics]
trigrams = trigram_metric:metric
broken = trigram_metric:broken
short = trigram_metric:short
refused = trigram_metric:refused
other = trigram_metric:other
renamed = trigram_metric:metric
absent = trigram_metric_absent:metric
bleu-1 = trigram_metric:metric
"""
CANDIDATES, REFERENCES = ["a dog runs", "xyz"], [["a dog ran", "the cat"], ["abc"]]


def install(folder: Path, name: str, version: str, points: str) -> None:
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(points)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "trigram_metric.py").write_text(MODULE)
    install(tmp_path, "quorum-trigrams", "0.2", POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "trigram_metric", raising=False)
    return tmp_path


def test_a_package_s_metric_is_scored_and_signed_with_its_version(package: Path) -> None:
    assert "trigram_metric" not in sys.modules
    assert "trigrams" in package_metrics()
    assert "trigram_metric" not in sys.modules
    found = score(CANDIDATES, REFERENCES, ["trigrams", "trigrams|n:2", "bleu-1"])
    # Of 8 and 7 trigrams of "a dog runs" and "a dog ran" five are shared.
    assert found.scores["trigrams"].images.tolist() == [2 * 5 / (8 + 7), 0]
    assert found.scores["trigrams"].corpus == pytest.approx(1 / 3)
    assert found.scores["trigrams"].signature == "trigrams|n:3|package:quorum-trigrams-0.2|refs:1-2|v:1.0"
    assert found.scores["trigrams|n:2"].signature.startswith("trigrams|n:2|package:quorum-trigrams-0.2|")
    # A built-in name stays Quorum's.
    assert found.scores["bleu-1"].signature.startswith("bleu-1|tok:ptb|")


def test_its_signature_leads_back_to_the_call_and_refuses_another_version(package: Path) -> None:
    signature = "trigrams|n:2|package:quorum-trigrams-0.2|refs:1-2|v:1.0"
    again = call_of(signature)(CANDIDATES, REFERENCES)
    assert again.signature == signature
    assert np.array_equal(
        again.images, score(CANDIDATES, REFERENCES, ["trigrams|n:2"]).scores["trigrams|n:2"].images
    )
    with pytest.raises(
        BadSignature, match=r"has package:quorum-trigrams-0.1, expected package:quorum-trigrams-0.2"
    ):
        call_of(signature.replace("0.2", "0.1"))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "absent",
            r"'absent' of package quorum-trigrams-0.2 cannot be loaded: ModuleNotFoundError: No module named",
        ),
        (
            "other",
            r"'other' of package quorum-trigrams-0.2 is trigram_metric:other, expected a Metric of that name",
        ),
        ("renamed", r"'renamed' of package quorum-trigrams-0.2 is trigram_metric:metric, expected a Metric"),
        ("broken", r"metric 'broken' cannot be computed: ZeroDivisionError: division by zero"),
        ("short", r"metric 'short' gives no finite number for each of 2 candidates"),
    ],
)
def test_what_is_wrong_with_a_package_is_said_in_a_sentence(package: Path, name: str, words: str) -> None:
    with pytest.raises(PackageFailed, match=words):
        score(CANDIDATES, REFERENCES, [name])


def test_names_are_unknown_options_are_checked_and_two_packages_may_not_share_a_name(package: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean 'trigrams'"):
        metric_named("trigram")
    with pytest.raises(ValueError, match="option n is 0, expected a whole number from 1 to 9"):
        score(CANDIDATES, REFERENCES, ["refused"])
    install(package, "quorum-grams", "1.0", "[quorum.metrics]\ntrigrams = trigram_metric:metric\n")
    with pytest.raises(
        PackageFailed, match=r"packages quorum-grams-1\.0 and quorum-trigrams-0.2 both have a metric"
    ):
        package_metrics()
    assert package_names() == []
