"""From a study to its report."""

from __future__ import annotations

from collections.abc import Sequence

from evaluation.judgment_signature import signature_of_study
from evaluation.provenance import versions
from evaluation.registration import registered
from evaluation.reports.content import Report
from evaluation.reports.gathering import gather
from evaluation.reports.methods import methods
from evaluation.reports.sections import sections_of
from judgments.models import Study
from judgments.studies.generation import Progress, no_progress


def build_report(
    study: Study,
    *,
    metrics: Sequence[str] = (),
    tokenizer: str = "",
    progress: Progress = no_progress,
) -> Report:
    """Everything that is known about ``study``; stores nothing.

    Stored analyses of the very same judgments are used, others computed again.

    Args:
        metrics, tokenizer: of the evaluation; empty: as the newest one had them, else the defaults.

    Raises:
        EvaluationError: a metric or tokenizer that does not exist.
    """
    gathered = gather(study, metrics=metrics, tokenizer=tokenizer, progress=progress)
    progress(0.5, "figures and tables")
    sections = sections_of(gathered, progress)
    if (plan := registered(study)) is not None:
        sections.append(plan.section(gathered))
    text, cited = methods(gathered, study, sections)
    progress(0.8, "writing")
    evaluation = gathered.evaluation
    return Report(
        study=study.slug,
        title=study.name,
        protocol=study.protocol,
        simulated=study.simulated,
        stamp=str(signature_of_study(study)),
        data_hash=gathered.consensus.data_hash,
        seed=gathered.seed,
        counts=gathered.aggregation.result["counts"],
        sections=tuple(sections),
        methods=text,
        citations=cited,
        settings={
            "aggregation": dict(gathered.aggregation.settings),
            **({"meta-evaluation": dict(evaluation.settings)} if evaluation else {}),
        },
        signatures={
            "aggregation": gathered.aggregation.signature,
            **(
                {"meta-evaluation": evaluation.signature, **evaluation.result["signatures"]}
                if evaluation
                else {}
            ),
        },
        versions=versions(),
    )
