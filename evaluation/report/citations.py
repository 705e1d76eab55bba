"""Literature of a report: ``references.bib``, and the entries of metrics, data sets and presets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

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


def _read(text: str) -> dict[str, str]:
    """Return key -> entry of a .bib file whose closing braces have their own lines."""
    return {entry[1]: entry[0] for entry in re.finditer(r"^@\w+\{(\w+),\n.*?^\}\n", text, re.M | re.S)}


ENTRIES = _read((Path(__file__).parent / "references.bib").read_text(encoding="utf-8"))


def fields_of(key: str) -> dict[str, str]:
    return dict(re.findall(r"^  (\w+) = \{(.*)\},?$", ENTRIES[key], re.M))


def of_metric(name: str) -> tuple[str, ...]:
    """Return the keys of a metric's works, whatever its options."""
    base = name.partition("|")[0]
    found = [start for start in METRICS if base.startswith(start)]
    return METRICS[max(found, key=len)] if found else ()


def bibtex(keys: Iterable[str]) -> str:
    return "\n".join(ENTRIES[key] for key in sorted(set(keys)))


def in_text(key: str) -> str:
    """Cite a work in running text: Vedantam et al., 2015."""
    fields = fields_of(key)
    names = [name.split(",")[0] for name in fields["author"].split(" and ")]
    authors = f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
    return f"{authors}, {fields['year']}"
