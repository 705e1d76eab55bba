"""Compare what other programs read from our exports with our figures. requirements-oracles.txt must be installed.

    python -m benchmarks.readers

The program exports a simulated relevance study (benchmarks/filling.py) with 6,000 judgments. Each line says which
program read which format, how many rows, and the difference of its figures from ours.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.export import set_up

FORMS = ("jsonl", "csv", "parquet", "qrels", "reliability")


def export_files(folder: Path) -> dict[str, Path]:
    os.environ["DATA_DIR"] = str(folder)
    set_up()
    from django.core.management import call_command

    from benchmarks.filling import fill_study
    from evaluation.data.export.exporting import export_judgments

    call_command("migrate", verbosity=0)
    study = fill_study(judgments=6_000, protocol="relevance")
    paths = {form: folder / f"out.{form}" for form in FORMS}
    for form, path in paths.items():
        export_judgments(study=study, format=form, output=path)
    return paths


def compare_readers(paths: dict[str, Path]) -> None:
    import numpy as np
    import pandas as pd

    from quorum.statistics.agreement import krippendorff_alpha

    # these packages are not installed where types are checked
    ir_measures, krippendorff, polars = (
        import_module(name) for name in ("ir_measures", "krippendorff", "polars")
    )
    majority = import_module("crowdkit.aggregation").MajorityVote

    frames: dict[str, Any] = {
        "jsonl": pd.read_json(paths["jsonl"], lines=True),
        "csv": pd.read_csv(paths["csv"]),
        "parquet": polars.read_parquet(paths["parquet"]).to_pandas(),
    }
    qrels = {
        (row.query_id, row.doc_id): row.relevance for row in ir_measures.read_trec_qrels(str(paths["qrels"]))
    }
    for form, frame in frames.items():
        counted = frame[frame["used"] & ~frame["control"]]
        votes = counted.rename(columns={"unit": "task", "value": "label"})[["task", "worker", "label"]]
        theirs = majority().fit_predict(votes)
        means = votes.groupby("task")["label"].mean()
        clear = means.index[means != 0.5]  # without ties, which other programs may break otherwise
        names = counted.drop_duplicates("unit").set_index("unit")
        ours = [qrels[names.loc[unit, "image"], names.loc[unit, "first"]] for unit in clear]
        wrong = int((theirs[clear].to_numpy() != np.array(ours)).sum())
        reader = "polars" if form == "parquet" else "pandas"
        _print_result(form, reader, f"{len(frame):,} rows")
        _print_result(form, "crowd-kit", f"majority of {len(clear):,} units; {wrong} differ from our qrels")
    _print_result(
        "qrels", "ir-measures", f"{len(qrels):,} judgments of {len({query for query, _ in qrels}):,} queries"
    )
    run = {query: {document: 1.0} for query, document in qrels}
    found = ir_measures.calc_aggregate([ir_measures.P @ 1], _nest_qrels(qrels), run)[ir_measures.P @ 1]
    share = sum(_nest_qrels(qrels)[query][document] for query, own in run.items() for document in own) / len(
        run
    )
    _print_result("qrels", "ir-measures", f"P@1 {found:.6f}, counted {share:.6f}")
    matrix = pd.read_csv(paths["reliability"], index_col="worker").to_numpy(dtype=float)
    theirs_alpha = krippendorff.alpha(reliability_data=matrix, level_of_measurement="nominal")
    counted = frames["jsonl"][frames["jsonl"]["used"] & ~frames["jsonl"]["control"]]
    table = counted.pivot(index="worker", columns="unit", values="value").to_numpy(dtype=float)
    alpha = krippendorff_alpha(table, level="nominal")
    ours_alpha = float(getattr(alpha, "value", alpha))
    _print_result(
        "reliability", "krippendorff", f"alpha {theirs_alpha:.9f}, ours from jsonl {ours_alpha:.9f}"
    )


def _nest_qrels(qrels: dict[tuple[str, str], int]) -> dict[str, dict[str, int]]:
    relevance_by_query: dict[str, dict[str, int]] = {}
    for (query, document), relevance in qrels.items():
        relevance_by_query.setdefault(query, {})[document] = relevance
    return relevance_by_query


def _print_result(form: str, reader: str, words: str) -> None:
    print(f"| {form} | {reader} {version(reader)} | {words} |", flush=True)


def main() -> None:
    argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0]).parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        compare_readers(export_files(Path(scratch)))


if __name__ == "__main__":
    main()
