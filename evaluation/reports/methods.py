"""Write the methods section of a report from the sentences in ``methods.toml``, and cite works of ``references.bib``.

``methods.toml`` has two lists of templates, ``collection`` and ``analysis``, each of which makes one paragraph.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from django.db.models import Count

from annotation.models import Exclusion
from evaluation.presentation.content import Section
from evaluation.presentation.rendering import fill_template
from evaluation.reports.inputs import ReportInputs
from evaluation.reports.parts import optional_parts
from evaluation.reports.sections.ceilings import SPLITS
from evaluation.results.rankings.filter_audit import audit_sentence
from judgments.models import Study
from judgments.studies.designs import design_of, stops_early
from judgments.studies.stopping import describe_stopping
from quorum.numeric.signatures import versions

# Works to cite, by prefix of a metric's name. The longest matching prefix counts.
PAPERS_BY_METRIC = {
    "bleu": ("papineni2002",),
    "bleu-h13": ("hodosh2013", "papineni2002"),
    "bleu-pre": ("hodosh2013", "papineni2002"),
    "rouge": ("lin2004",),
    "meteor": ("denkowski2014",),
    "cider": ("vedantam2015",),
}
# The works of the data's authors, by the beginning of the source format of an import.
PAPERS_BY_FORMAT = {
    "pascal-50s": ("vedantam2015",),
    "abstract-50s": ("vedantam2015",),
    "flickr8k": ("hodosh2013",),
    "coco": ("lin2014coco", "chen2015coco"),
}
# The paper that a preset follows, by the beginning of the preset's name.
PAPER_BY_PRESET = {
    "vedantam-2015": "vedantam2015",
    "hodosh-2013": "hodosh2013",
    "wang-gaizauskas-2015": "wang2015",
    "wang-gaizauskas-2016": "wang2016",
    "mason-charniak-2012": "mason2012",
}
FOLDER = Path(__file__).parent
METHODS_SENTENCES = tomllib.loads((FOLDER / "methods.toml").read_text(encoding="utf-8"))


def _read_bibliography(text: str) -> dict[str, str]:
    """Return the entries of a .bib file by key. Closing braces must be on lines of their own."""
    return {entry[1]: entry[0] for entry in re.finditer(r"^@\w+\{(\w+),\n.*?^\}\n", text, re.M | re.S)}


BIBLIOGRAPHY = _read_bibliography((FOLDER / "references.bib").read_text(encoding="utf-8"))


def bibtex_fields_of(key: str) -> dict[str, str]:
    return dict(re.findall(r"^  (\w+) = \{(.*)\},?$", BIBLIOGRAPHY[key], re.M))


def sources_of_metric(name: str) -> tuple[str, ...]:
    """Return the keys of the works on a metric, such as ``bleu-4``. Options that follow "|" do not matter."""
    base = name.partition("|")[0]
    prefixes = [prefix for prefix in PAPERS_BY_METRIC if base.startswith(prefix)]
    return PAPERS_BY_METRIC[max(prefixes, key=len)] if prefixes else ()


def bibtex(keys: Iterable[str]) -> str:
    """Return the bibliography of the works with these keys, as text of a .bib file."""
    return "\n".join(BIBLIOGRAPHY[key] for key in sorted(set(keys)))


def cite_in_text(key: str) -> str:
    """Return a citation for running text, such as "Vedantam et al., 2015"."""
    fields = bibtex_fields_of(key)
    names = [name.split(",")[0] for name in fields["author"].split(" and ")]
    authors = f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
    return f"{authors}, {fields['year']}"


def methods_with_citations(
    inputs: ReportInputs, study: Study, sections: Sequence[Section]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the paragraphs on methods, and the keys of the works that they cite, in the order of the citations."""
    cited_keys: dict[str, None] = {}

    def work(key: str) -> str:
        cited_keys[key] = None
        return cite_in_text(key)

    def cite(*keys: str) -> str:
        return f"({'; '.join(map(work, keys))})" if keys else ""

    values = _template_values(inputs, study, sections) | {"work": work, "cite": cite}

    def sentences_of_parts() -> str:
        parts = optional_parts().values()
        return " ".join(
            fill_template(part.methods, values) for part in parts if part.name in values["sections"]
        )

    values["sentences_of_parts"] = sentences_of_parts  # a function, to keep the order of citations
    paragraphs = []
    for name in ("collection", "analysis"):
        sentences = [fill_template(template, values) for template in METHODS_SENTENCES[name]]
        paragraphs.append(" ".join(sentence for sentence in sentences if sentence))
    return tuple(paragraphs), tuple(cited_keys)


def _template_values(inputs: ReportInputs, study: Study, sections: Sequence[Section]) -> dict[str, Any]:
    """Return the values for the templates in ``methods.toml``, except the functions that cite works."""
    design, kind, result = design_of(study), inputs.kind, inputs.aggregation.result
    audit = result.get("filter_audit")  # of the captions that the design's filter rejected
    is_imported = study.source == Study.Source.IMPORTED
    exclusions = Exclusion.objects.filter(study=study, lifted_at=None)
    source = study.dataset.source_format
    return {
        "works_of": sources_of_metric,
        "study": study,
        "design": design,
        "kind": kind,
        "judges_captions": kind.judges_one_caption,
        "imported": is_imported,
        "designed": study.source == Study.Source.DESIGNED,
        "by_people": not is_imported and not study.simulated,
        "paper": next((key for start, key in PAPER_BY_PRESET.items() if design.preset.startswith(start)), ""),
        "sources": next((keys for start, keys in PAPERS_BY_FORMAT.items() if source.startswith(start)), ()),
        "pairs": ", ".join(f"{count:,} {name}" for name, count in design.sampling.pairs.items() if count),
        "audit": audit_sentence(audit) if audit else "",
        "exclusions": list(exclusions.values_list("rule").annotate(n=Count("pk")).order_by("rule")),
        "stopping": describe_stopping(design) if stops_early(study) else "",
        "counts": result["counts"],
        "anonymous": not result["agreement"]["per_worker"]["available"],
        "alpha": result["agreement"]["alpha"],
        "settings": inputs.aggregation.settings,
        "evaluation": inputs.evaluation,
        "metrics": inputs.metrics,
        "seed": inputs.seed,
        "clustered": inputs.method.is_clustered,
        "raters": inputs.covers_new_raters,
        "raters_known": inputs.method.is_clustered and inputs.are_raters_known,
        "splits": SPLITS,
        "sections": {section.name for section in sections},
        "tables": {table.name for section in sections for table in section.tables},
        "versions": versions(),
    }
