"""Store or find a study's multiverse: "universes", each an analysis under many specifications (sets of choices)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from contrib.multiverse.choices import MAX_SPECIFICATIONS
from evaluation.data.imported_scores import imported_hashes
from evaluation.models import Analysis
from judgments.models import Study
from quorum.numeric.signatures import signature


def multiverse_signature(study: Study, multiverse: Mapping[str, Any]) -> str:
    """Return the signature of a result of ``compute_multiverse``. It names every choice and its options."""
    fields: dict[str, Any] = {"protocol": study.protocol, "metrics": ",".join(multiverse["metrics"])}
    for name, universe in multiverse["universes"].items():
        fields[name] = f"{len(universe['specifications'])}-of-{universe['possible']}"
        fields |= {f"{name}-{choice['name']}": ",".join(choice["options"]) for choice in universe["choices"]}
    return signature("multiverse", fields | {"seed": multiverse["seed"]})


def stored_multiverse(
    study: Study, *, metrics: Sequence[str], tokenizer: str, data_hash: str
) -> dict[str, Any] | None:
    """Return the multiverse that was stored for these settings and the consensus with this hash, or None."""
    analysis = Analysis.objects.filter(
        study=study,
        what=Analysis.Kind.MULTIVERSE,
        signature=signature("multiverse", _settings(study, metrics, tokenizer)),
        data_hash=data_hash,
    ).first()
    return None if analysis is None else analysis.result


def store_multiverse(study: Study, multiverse: Mapping[str, Any], *, judgments: str) -> None:
    """Store a result of ``compute_multiverse`` unless it is stored. ``judgments`` is the signature of the judgments."""
    key = {name: multiverse[name] for name in ("metrics", "tokenizer", "data_hash")}
    if stored_multiverse(study, **key) is None:
        settings = _settings(study, multiverse["metrics"], multiverse["tokenizer"])
        Analysis.objects.replace(
            study=study,
            what=Analysis.Kind.MULTIVERSE,
            signature=signature("multiverse", settings),
            data_hash=multiverse["data_hash"],
            judgments=judgments,
            settings=settings | {"choices": multiverse_signature(study, multiverse)},
            result=dict(multiverse),
        )


def _settings(study: Study, metrics: Sequence[str], tokenizer: str) -> dict[str, Any]:
    """Return the settings that, with the judgments, determine a multiverse."""
    settings = {
        "protocol": study.protocol,
        "metrics": ",".join(metrics),
        "tok": tokenizer,
        "most": MAX_SPECIFICATIONS,  # of each universe
    }
    hashes = imported_hashes(study.dataset, metrics)  # "" if Quorum computes all metrics itself
    return settings | {"imported": hashes} if hashes else settings
