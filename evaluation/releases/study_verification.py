"""Verify claims about a study against its rows."""

from __future__ import annotations

from evaluation.errors import VerificationError
from evaluation.judgment_sets.signature import compare_signature
from evaluation.models import Analysis
from evaluation.releases.verification import Verification, different, leaves, verification
from evaluation.results.aggregation import compute_aggregation
from evaluation.signatures import BadSignature, parse
from judgments.models import Study
from judgments.studies.generation import Progress, no_progress


def verify_signature(*, text: str, study: Study) -> Verification:
    """Compare a stated judgment signature with the study's rows. Raise VerificationError."""
    try:
        stated = parse(text)
    except BadSignature as error:
        raise VerificationError(f"{error}.") from None
    found = compare_signature(study, stated)
    return verification("The signature", len(stated.fields) + 2, [str(one) for one in found])


def verify_study(*, study: Study, progress: Progress = no_progress) -> Verification:
    """Compare the newest stored aggregation with the study's rows. Raise VerificationError without one."""
    stored = Analysis.objects.newest_first(study, Analysis.What.AGGREGATION).first()
    if stored is None:
        raise VerificationError(
            f"Study {study.slug!r} has no stored results to verify; `aggregate {study.slug}` computes them."
        )
    now = compute_aggregation(study=study, progress=progress)
    found: list[str] = []
    if stored.judgments:
        found += [str(one) for one in compare_signature(study, parse(stored.judgments))]
    checked = len(parse(now.judgments).fields) + 2
    # Aggregations from before rankings had no table of systems by single captions either.
    systems = ("systems", "rankings") if "rankings" in stored.result else ()
    for name in ("agreement", "workers", "counts", *systems, "figures"):
        checked += sum(1 for _ in leaves(now.result[name]))
        found += different(stored.result.get(name), now.result[name], name)
    return verification(f"The stored aggregation of {study.slug!r}", checked, found)
