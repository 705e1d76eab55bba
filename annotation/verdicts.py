"""What speaks against paying somebody's work: what the quality rules and the control items found, in words that the
worker may read. It proposes; a rejection is always a person's decision.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from annotation.controls import ControlTally, control_tallies
from annotation.models import Case, Exclusion
from annotation.quality import tallied_records
from annotation.rules import RULES
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.services.studies import design_of


def reasons_against(
    study: Study, workers: Collection[int], *, known: Collection[ControlTally] | None = None
) -> dict[int, list[str]]:
    """Per worker (row id) one sentence for each thing that speaks against them; who has none is not there.

    That is: a standing exclusion, cases of rules that nobody dismissed, and control items below the study's threshold
    once as many were seen as the study asks for. Three queries for any number of workers.

    ``known``: what workers answered on control items, where that was counted before.
    """
    found: defaultdict[int, list[str]] = defaultdict(list)
    standing = Exclusion.objects.filter(study=study, worker__in=workers, lifted_at=None)
    for worker, why in standing.values_list("worker", "why"):
        found[worker].append(why)
    cases = Case.objects.filter(study=study, worker__in=workers).exclude(state=Case.State.DISMISSED)
    for worker, rule, evidence in cases.order_by("pk").values_list("worker", "rule", "evidence"):
        title = RULES[rule].title if rule in RULES else rule
        found[worker].append(evidence.get("words") or f"{title}.")
    controls, kind = design_of(study).controls, KINDS[study.protocol]
    tallies = control_tallies(study, workers=workers) if known is None else known
    records = tallied_records(
        (one for one in tallies if one.worker in workers),
        threshold=controls.threshold,
        is_right=kind.is_right,
    )
    for worker, record in records.items():
        if not record.used and record.seen >= controls.after:
            found[worker].append(
                f"{record.right} of {record.seen} items with a known answer were right; the study asks for "
                f"{controls.threshold * 100:g} %."
            )
    return dict(found)
