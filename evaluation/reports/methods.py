"""Write a paper's methods section (``methods.toml``) with citations."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path

from django.db.models import Count

from annotation.models import Exclusion
from evaluation.data.provenance import versions
from evaluation.presentation.content import Section
from evaluation.presentation.rendering import fill_template
from evaluation.reports.loading import ReportInputs
from evaluation.reports.sections.ceiling import SPLITS
from evaluation.results.rankings import audit_sentence
from judgments.drawing.stopping import describe_stopping
from judgments.models import Study
from judgments.studies.studies import design_of, stops_early

# Prefix of a metric's name -> its works; the longest match counts.
METRICS = {
    "bleu": ("papineni2002",),
    "bleu-h13": ("hodosh2013", "papineni2002"),
    "bleu-pre": ("hodosh2013", "papineni2002"),
    "rouge": ("lin2004",),
    "meteor": ("denkowski2014",),
    "cider": ("vedantam2015",),
}
# Source format of an import -> the data's authors.
SOURCES = {
    "pascal-50s": ("vedantam2015",),
    "abstract-50s": ("vedantam2015",),
    "flickr8k": ("hodosh2013",),
    "coco": ("lin2014coco", "chen2015coco"),
}
# The paper that a preset is named after.
PRESETS = {
    "vedantam-2015": "vedantam2015",
    "hodosh-2013": "hodosh2013",
    "wang-gaizauskas-2015": "wang2015",
    "wang-gaizauskas-2016": "wang2016",
    "mason-charniak-2012": "mason2012",
}
FOLDER = Path(__file__).parent
SENTENCES = tomllib.loads((FOLDER / "methods.toml").read_text(encoding="utf-8"))


def _read(text: str) -> dict[str, str]:
    """Return key -> entry of a .bib file whose closing braces have their own lines."""
    return {entry[1]: entry[0] for entry in re.finditer(r"^@\w+\{(\w+),\n.*?^\}\n", text, re.M | re.S)}


ENTRIES = _read((FOLDER / "references.bib").read_text(encoding="utf-8"))


def fields_of(key: str) -> dict[str, str]:
    return dict(re.findall(r"^  (\w+) = \{(.*)\},?$", ENTRIES[key], re.M))


def sources_of_metric(name: str) -> tuple[str, ...]:
    base = name.partition("|")[0]
    prefixes = [prefix for prefix in METRICS if base.startswith(prefix)]
    return METRICS[max(prefixes, key=len)] if prefixes else ()


def bibtex(keys: Iterable[str]) -> str:
    return "\n".join(ENTRIES[key] for key in sorted(set(keys)))


def cite_in_text(key: str) -> str:
    """Cite a work in running text: Vedantam et al., 2015."""
    fields = fields_of(key)
    names = [name.split(",")[0] for name in fields["author"].split(" and ")]
    authors = f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
    return f"{authors}, {fields['year']}"


def methods(
    inputs: ReportInputs, study: Study, sections: Sequence[Section]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the paragraphs, and their citation keys."""
    cited: dict[str, None] = {}

    def work(key: str) -> str:
        cited[key] = None
        return cite_in_text(key)

    def cite(*keys: str) -> str:
        return f"({'; '.join(map(work, keys))})" if keys else ""

    design, kind, result = design_of(study), inputs.kind, inputs.aggregation.result
    audit = result.get("filter_audit")
    imported = study.source == Study.Source.IMPORTED
    excluded = Exclusion.objects.filter(study=study, lifted_at=None)
    values = {
        "work": work,
        "cite": cite,
        "works_of": sources_of_metric,
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
        "stopping": describe_stopping(design) if stops_early(study) else "",
        "counts": result["counts"],
        "anonymous": not result["agreement"]["per_worker"]["available"],
        "alpha": result["agreement"]["alpha"],
        "settings": inputs.aggregation.settings,
        "evaluation": inputs.evaluation,
        "metrics": inputs.metrics,
        "seed": inputs.seed,
        "clustered": inputs.clustered,
        "raters": inputs.by_rater,
        "splits": SPLITS,
        "sections": {section.name for section in sections},
        "tables": {table.name for section in sections for table in section.tables},
        "versions": versions(),
    }
    paragraphs = []
    for name in ("collection", "analysis"):
        sentences = [fill_template(text, values) for text in SENTENCES[name]]
        paragraphs.append(" ".join(text for text in sentences if text))
    return tuple(paragraphs), tuple(cited)
