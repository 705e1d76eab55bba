"""The methods section for a paper, with every setting (``methods.toml``)."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence

from django.db.models import Count

from annotation.models import Exclusion
from evaluation.provenance import versions
from evaluation.report.citations import PRESETS, SOURCES, in_text, of_metric
from evaluation.report.content import Section
from evaluation.report.inputs import ReportInputs
from evaluation.report.sections.ceiling import SPLITS
from evaluation.report.wording import FOLDER, fill
from evaluation.results.filter_audit import audit_sentence
from judgments.drawing.stopping import stopping_in_words, stops_early
from judgments.models import Study
from judgments.studies.studies import design_of

SENTENCES = tomllib.loads((FOLDER / "methods.toml").read_text(encoding="utf-8"))


def methods(
    inputs: ReportInputs, study: Study, sections: Sequence[Section]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the paragraphs, and the keys of their citations."""
    cited: dict[str, None] = {}

    def work(key: str) -> str:
        cited[key] = None
        return in_text(key)

    def cite(*keys: str) -> str:
        return f"({'; '.join(map(work, keys))})" if keys else ""

    design, kind, result = design_of(study), inputs.kind, inputs.aggregation.result
    audit = result.get("filter_audit")
    imported = study.source == Study.Source.IMPORTED
    excluded = Exclusion.objects.filter(study=study, lifted_at=None)
    values = {
        "work": work,
        "cite": cite,
        "works_of": of_metric,
        "study": study,
        "design": design,
        "kind": kind,
        "judges_captions": kind.judges_one_caption,
        "imported": imported,
        "designed": study.source == Study.Source.DESIGNED,
        "by_people": not imported and not study.simulated,
        "paper": next((key for start, key in PRESETS.items() if design.preset.startswith(start)), ""),
        "sources": next(
            (keys for start, keys in SOURCES.items() if study.dataset.source_format.startswith(start)), ()
        ),
        "pairs": ", ".join(f"{count:,} {name}" for name, count in design.sampling.pairs.items() if count),
        "audit": audit_sentence(audit) if audit else "",
        "exclusions": list(excluded.values_list("rule").annotate(n=Count("pk")).order_by("rule")),
        "stopping": stopping_in_words(design) if stops_early(study) else "",
        "counts": result["counts"],
        "alpha": result["agreement"]["alpha"],
        "settings": inputs.aggregation.settings,
        "evaluation": inputs.evaluation,
        "metrics": inputs.metrics,
        "seed": inputs.seed,
        "splits": SPLITS,
        "sections": {section.name for section in sections},
        "tables": {table.name for section in sections for table in section.tables},
        "versions": versions(),
    }
    paragraphs = []
    for name in ("collection", "analysis"):
        sentences = [fill(text, values) for text in SENTENCES[name]]
        paragraphs.append(" ".join(text for text in sentences if text))
    return tuple(paragraphs), tuple(cited)
