"""Files of candidates and references -> scores of systems, as JSON-ready figures. No database, no Django.

References: COCO captions JSON, `{"<image>": ["caption", ...]}`, or JSON lines `{"image", "caption"}`.
Candidates: COCO results JSON, `{"<image>": "caption"}`, or JSON lines `{"image", "caption", "system"}`.
Every error names the file, the line, what was found and what was expected.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from evaluation.metrics.caption_files import candidate_document, caption_rows, reference_document
from evaluation.metrics.errors import InvalidFile
from evaluation.metrics.registry import VERSION
from evaluation.metrics.scoring import Scores, score

DEFAULT_METRICS = ("bleu-1", "bleu-2", "bleu-3", "bleu-4", "rouge-l", "cider", "cider-d")

References = dict[str, list[str]]
Candidates = dict[str, dict[str, str]]


def read_references(path: Path) -> References:
    """Image -> captions, in the order of the file; InvalidFile for a file that is none of the formats."""
    references: References = {}
    for row in caption_rows(path, reference_document):
        references.setdefault(row.image, []).append(row.caption)
    return references


def read_candidates(path: Path) -> Candidates:
    """System -> image -> caption; a row that names no system belongs to one named after the file."""
    systems: Candidates = {}
    for row in caption_rows(path, candidate_document):
        captions = systems.setdefault(row.system or path.stem, {})
        if row.image in captions:
            raise InvalidFile(
                f"{path}, line {row.line}: image {row.image!r} has a second caption of system "
                f"{row.system or path.stem!r}, expected one"
            )
        captions[row.image] = row.caption
    return systems


def score_files(
    candidates: Path,
    references: Path,
    metrics: Sequence[str] = DEFAULT_METRICS,
    tokenizer: str = "ptb",
    *,
    progress: Callable[[str], None] = lambda system: None,
) -> dict[str, Any]:
    """Score every system of a candidates file.

    Returns `{"systems": {system: {metric: {"corpus", "images": {image: score}}}}, "tokenizer", "version",
    "signatures": {system: {metric: signature}}, "warnings": [...]}`. Document frequencies are counted over
    all images of the references file; a system that leaves images out is scored on those that it has, and a
    warning says so. `progress` is called with the name of each system before it is scored.
    """
    known = read_references(references)
    figures: dict[str, Any] = {"systems": {}, "tokenizer": tokenizer, "version": VERSION}
    signatures: dict[str, dict[str, str]] = {}
    warnings: list[str] = []
    for system, captions in read_candidates(candidates).items():
        progress(system)
        for image in captions:
            if image not in known:
                raise InvalidFile(
                    f"{candidates}: system {system!r} has a caption for image {image!r}, "
                    f"expected images that {references} has references for"
                )
        missing = len(known) - len(captions)
        if missing:
            warnings.append(f"system {system!r} has no caption for {missing} of {len(known)} images")
        result = score(
            list(captions.values()),
            [known[image] for image in captions],
            metrics,
            tokenizer,
            document_corpus=list(known.values()) if missing else None,
        )
        warnings.extend(f"system {system!r}: {warning}" for warning in result.warnings)
        figures["systems"][system] = _figures(result, captions)
        signatures[system] = {name: one.signature for name, one in result.scores.items()}
    return figures | {"signatures": signatures, "warnings": warnings}


def _figures(result: Scores, images: Iterable[str]) -> dict[str, Any]:
    return {
        name: {"corpus": one.corpus, "images": dict(zip(images, one.images.tolist(), strict=True))}
        for name, one in result.scores.items()
    }
