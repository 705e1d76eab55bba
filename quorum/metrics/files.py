"""Score files of candidates against files of references for the command `score`, and return plain data for JSON."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from quorum.metrics.caption_files import read_candidates, read_references
from quorum.metrics.inputs import InvalidFile
from quorum.metrics.registry import VERSION, Scores, score

DEFAULT_METRICS = ("bleu-1", "bleu-2", "bleu-3", "bleu-4", "rouge-l", "cider", "cider-d")


def score_files(
    candidates: Path,
    references: Path,
    metrics: Sequence[str] = DEFAULT_METRICS,
    tokenizer: str = "ptb",
    *,
    progress: Callable[[str], None] = lambda system: None,
) -> dict[str, Any]:
    """Score every system of a candidates file. Document frequencies cover all images of the references file.

    Return `{"systems": {system: {metric: {"corpus", "images": {image: score}}}}, "tokenizer", "version",
    "signatures": {system: {metric: signature}}, "warnings": [...]}`. `progress` is called with each system's name
    before the system is scored. Raise InvalidFile if a system has a caption for an image that has no references.
    """
    references_by_image = read_references(references)
    scores_by_system: dict[str, Any] = {}
    signatures: dict[str, dict[str, str]] = {}
    warnings: list[str] = []
    for system, captions in read_candidates(candidates).items():
        progress(system)
        for image in captions:
            if image not in references_by_image:
                raise InvalidFile(
                    f"{candidates}: system {system!r} has a caption for image {image!r}, "
                    f"expected images that {references} has references for"
                )
        uncaptioned_count = len(references_by_image) - len(captions)
        if uncaptioned_count:
            warnings.append(
                f"system {system!r} has no caption for {uncaptioned_count} of {len(references_by_image)} images"
            )
        result = score(
            list(captions.values()),
            [references_by_image[image] for image in captions],
            metrics,
            tokenizer,
            # By default the documents are the references of the captions: of all images if each has a caption.
            document_corpus=list(references_by_image.values()) if uncaptioned_count else None,
        )
        warnings.extend(f"system {system!r}: {warning}" for warning in result.warnings)
        scores_by_system[system] = _plain_scores(result, captions)
        signatures[system] = {name: metric_score.signature for name, metric_score in result.scores.items()}
    return {
        "systems": scores_by_system,
        "tokenizer": tokenizer,
        "version": VERSION,
        "signatures": signatures,
        "warnings": warnings,
    }


def _plain_scores(result: Scores, images: Iterable[str]) -> dict[str, Any]:
    return {
        name: {
            "corpus": metric_score.corpus,
            "images": dict(zip(images, metric_score.images.tolist(), strict=True)),
        }
        for name, metric_score in result.scores.items()
    }
