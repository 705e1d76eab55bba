"""Compute WMT23's English-German errors and scores from the data of Kocmi et al. 2024.

    python -m benchmarks.error_spans FOLDER

FOLDER is a copy of github.com/wmt-conference/ErrorSpanAnnotation.
"""

import argparse
import csv
import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

from scipy.stats import kendalltau

from quorum.statistics.agreement import span_alpha, span_f1

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
CAMPAIGNS = ("240315rc5ESA.scores.csv", "240520rc6ESA.scores.csv")


def lines(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file]


def scores(path: Path) -> dict[str, list[float | None]]:
    """Return the scores of each system's segments, which are None if nobody judged them."""
    scores_by_system: defaultdict[str, list[float | None]] = defaultdict(list)
    for system, value in lines(path):
        scores_by_system[system].append(None if value == "None" else float(value))
    return scores_by_system


def means(found: dict[str, list[float | None]]) -> dict[str, float]:
    known = {system: [one for one in own if one is not None] for system, own in found.items()}
    return {system: sum(own) / len(own) for system, own in known.items() if own}


def compare_mqm(human: Path) -> dict[str, float]:
    """Score the ratings of MQM, and count differences from the scores in the files. Return the scores."""
    from contrib.error_spans.kind.mqm import MQM

    own_scores: defaultdict[str, list[float | None]] = defaultdict(list)
    for system, told in lines(human / "en-de.mqm.merged.seg.rating"):
        own_scores[system].append(None if told == "None" else MQM.score(json.loads(told)["errors"]))
    theirs = scores(human / "en-de.mqm.seg.score")
    pairs = [
        (one, other)
        for name in theirs
        for one, other in zip(own_scores[name], theirs[name], strict=True)
        if other is not None
    ]
    same = sum(one is not None and abs(one - other) < 1e-9 for one, other in pairs)
    print(f"MQM: {same:,} of {len(pairs):,} segments have the score of en-de.mqm.seg.score")
    whole = {system: float(value) for system, value in lines(human / "en-de.mqm.sys.score")}
    found = means({name: own_scores[name] for name in theirs})
    equal = sum(abs(found[name] - whole[name]) < 1e-9 for name in whole)
    print(f"MQM: {equal} of {len(whole)} systems have the score of en-de.mqm.sys.score")
    return found


def compare_esa(campaign: Path, mqm: dict[str, float]) -> None:
    for name in ("ESA-1", "ESA2"):
        found = means(scores(campaign / f"en-de.{name}.seg.score"))
        tau = kendalltau([found[system] for system in mqm], [mqm[system] for system in mqm]).statistic
        ranking = ", ".join(
            f"{system} {found[system]:.2f}" for system in sorted(found, key=lambda one: -found[one])
        )
        print(f"{name}: tau-b with MQM {tau:.3f}; {ranking}")


def agree(campaign: Path) -> None:
    """Print the agreement of two campaigns, each with two judges for each text, on marked spans."""
    batches = json.loads((campaign / "data" / "batches_wmt23_en-de_esa.json").read_text(encoding="utf-8"))
    texts = {
        (str(one["itemID"]), one["documentID"]): one["targetText"]
        for batch in batches
        for one in batch["items"]
    }
    spans_by_campaign: list[dict[tuple[str, str], list[tuple[int, int, str]]]] = []
    for name in CAMPAIGNS:
        spans_of_campaign: dict[tuple[str, str], list[tuple[int, int, str]]] = {}
        with (campaign / name).open(encoding="utf-8", newline="") as file:
            for row in csv.reader(file):
                item, bad, document, spans = row[2], row[3], row[7], json.loads(row[9])
                if bad == "TGT" and "tutorial" not in document and "#duplicate" not in document:
                    # a span includes its last character, and omissions have no position
                    spans_of_campaign[item, document] = [
                        (one["start_i"], one["end_i"] + 1, one["severity"])
                        for one in spans
                        if one["start_i"] != "missing"
                    ]
        spans_by_campaign.append(spans_of_campaign)
    both = sorted(spans_by_campaign[0].keys() & spans_by_campaign[1].keys() & texts.keys())
    rows = [
        (key, number, spans_of_campaign[key])
        for key in both
        for number, spans_of_campaign in enumerate(spans_by_campaign)
    ]
    columns: dict[str, Any] = {
        "texts": [" ".join(key) for key, _, _ in rows],
        "raters": [number for _, number, _ in rows],
        "lengths": [len(texts[key]) for key, _, _ in rows],
        "spans": [
            [(start, min(end, len(texts[key]))) for start, end, _ in spans_of_campaign]
            for key, _, spans_of_campaign in rows
        ],
        "items": [key[1].split("#")[0] for key, _, _ in rows],
    }
    labels = [[severity for *_, severity in spans_of_campaign] for _, _, spans_of_campaign in rows]
    for statistic in (span_f1, span_alpha):
        for words, of in (("", None), (", by severity", labels)):
            found = statistic(**columns, labels=of)
            print(
                f"{statistic.__name__}{words}: {found.value:.3f} [{found.low:.3f}, {found.high:.3f}], "
                f"{found.texts:,} texts, {found.items} documents"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    campaign = folder / "data" / "campaign-ruction-rc5"
    compare_esa(campaign, compare_mqm(folder / "data" / "mt-metrics-eval-v2" / "wmt23" / "human-scores"))
    agree(campaign)


if __name__ == "__main__":
    main()
