"""The command that loads the demo: a dataset, two systems, and studies of them."""

from __future__ import annotations

import csv
from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from common.commands import QuorumCommand, progress_bar
from contrib.demo import FOLDER
from evaluation.models import Analysis
from judgments.datasets.importing.candidates import import_candidates
from judgments.datasets.importing.datasets import import_dataset
from judgments.design.reading.study_files import read_toml
from judgments.jobs.queues import enqueue
from judgments.models import Study
from judgments.studies.generation.hits import generate_hits
from judgments.studies.generation.progress import Progress
from judgments.studies.studies import create_study

DATASET = "demo"
OPEN_STUDIES = ("graded", "relevance", "pairwise", "triplet")  # the study that is made last is listed first
FINISHED_STUDY = "triplet-finished"


class LoadDemo(QuorumCommand):
    help = "Load the demo: 35 photographs, two systems, four open studies and a finished, simulated one."
    example = "manage.py load_demo"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--later", action="store_true", help="leave the finished study's results to the background worker"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        with progress_bar() as progress:
            studies = load_demo(progress, later=options["later"])
        for study in studies:
            note = " (simulated)" if study.simulated else ""
            self.say(f"{study.slug}: {study.state}{note}")


def load_demo(progress: Progress, *, later: bool = False) -> list[Study]:
    """Import data and create studies. Return the studies, open ones first. With ``later``, jobs compute the results."""
    from annotation.crowds.opening import open_study
    from contrib.rehearsals.simulation.crowd import RehearsalCrowd
    from contrib.rehearsals.simulation.run import rehearse
    from evaluation.results.aggregation import aggregate_study
    from evaluation.results.metrics.storage import evaluate_study

    progress(0.05, "photographs and captions")
    import_dataset(
        format="jsonl",
        path=FOLDER / "dataset.jsonl",
        name=DATASET,
        images=str(FOLDER / "photos"),
        attribution=attribution(),
    )
    for path in sorted((FOLDER / "systems").glob("*.jsonl")):
        import_candidates(format="jsonl", path=path, dataset=DATASET, system=path.stem)
    studies = []
    for number, name in enumerate(OPEN_STUDIES):
        progress(0.2 + 0.1 * number, f"study {name}")
        study = _create_generated_study(name)
        if study.state == Study.State.GENERATED:
            open_study(study=study)
        studies.append(study)
    progress(0.6, "a finished study, answered by the rehearsal crowd")
    finished_study = _create_generated_study(FINISHED_STUDY)
    if finished_study.state != Study.State.CLOSED:
        rehearse(study=finished_study, crowd=RehearsalCrowd(workers=12, spammers=0.15, seed=7))
    progress(0.8, "its consensus, agreement and metrics")
    stored_kinds = set(Analysis.objects.filter(study=finished_study).values_list("what", flat=True))
    results: tuple[tuple[str, str, Callable[..., Any]], ...] = (
        (Analysis.Kind.AGGREGATION, "aggregate", aggregate_study),
        (Analysis.Kind.META_EVALUATION, "evaluate", evaluate_study),
    )
    for analysis_kind, job_kind, compute in results:
        if analysis_kind not in stored_kinds and later:
            enqueue(kind=job_kind, args={"study": finished_study.slug})
        elif analysis_kind not in stored_kinds:
            compute(study=finished_study)
    return [*studies, finished_study]


def _create_generated_study(name: str) -> Study:
    path = FOLDER / "studies" / f"{name}.toml"
    design = read_toml(path.read_text(encoding="utf-8"), source=str(path))
    study = Study.objects.filter(slug=design.slug).first() or create_study(design=design)
    if study.state == Study.State.DRAFT:
        generate_hits(study=study)
    return study


def attribution() -> str:
    with (FOLDER / "ATTRIBUTION.csv").open(encoding="utf-8", newline="") as file:
        return "\n".join(
            f"{row['file']}: {row['title']}, {row['author']}, {row['licence']} ({row['source']})"
            for row in csv.DictReader(file)
        )
