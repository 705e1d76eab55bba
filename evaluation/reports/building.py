"""From a study to its report."""

from __future__ import annotations

from collections.abc import Sequence

from evaluation.judgment_signature import signature_of_study
from evaluation.provenance import versions
from evaluation.reports import captions, open_answers, pairs, people, tournaments
from evaluation.reports.content import Report, Section
from evaluation.reports.gathering import Gathered, gather
from evaluation.reports.methods import methods
from evaluation.reports.registered import registered
from judgments.models import Study
from judgments.services.generation import Progress, no_progress


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
    sections = [people.collection(gathered), people.agreement(gathered), people.workers(gathered)]
    sections += _against_people(gathered, progress)
    sections += open_answers.sections(gathered)
    if (plan := registered(study)) is not None:
        sections.append(plan)
    text, cited = methods(gathered, sections)
    progress(0.8, "writing")
    evaluation = gathered.evaluation
    return Report(
        study=study.slug,
        title=study.name,
        protocol=study.protocol,
        simulated=study.simulated,
        stamp=str(signature_of_study(study)),
        data_hash=gathered.consensus.data_hash,
        seed=gathered.design.seed,
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


def _against_people(gathered: Gathered, progress: Progress) -> list[Section]:
    """What a study of pairs says of metrics and systems, or one of single captions."""
    if gathered.kind.compares_pairs:
        ceilings = pairs.ceilings(gathered)
        sections: list[Section | None] = [pairs.metrics(gathered, ceilings)]
        progress(0.55, "accuracy by number of references")
        sections += [pairs.references(gathered, ceilings), tournaments.systems(gathered)]
    else:
        sections = [captions.metrics(gathered), captions.thresholds(gathered), captions.rankings(gathered)]
    progress(0.75, "metrics against each other")
    sections.append(captions.between_metrics(gathered))
    return [section for section in sections if section is not None]
