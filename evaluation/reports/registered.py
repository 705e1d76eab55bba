"""The report's section on a registered plan: what became of it, and what was done otherwise."""

from __future__ import annotations

from evaluation.models import Registration
from evaluation.registration import deviations, outcome_words, outcomes
from evaluation.reports.content import Section, plain_table
from judgments.models import Study


def registered(study: Study) -> Section | None:
    """Hypotheses and deviations; None for a study that was not registered."""
    registration = Registration.objects.filter(study=study).first()
    if registration is None:
        return None
    found = deviations(study)
    hypotheses = plain_table(
        "hypotheses",
        "What became of the registered hypotheses",
        [("hypothesis", "text"), ("claim", "text"), ("verdict", "text"), ("in words", "text")],
        [(one.text, one.claim, one.verdict, outcome_words(one)) for one in outcomes(study)],
        "McNemar's exact test, two-sided, adjusted after Holm over the tested hypotheses; Wilson's 95 % intervals.",
    )
    others = plain_table(
        "deviations",
        "What was done otherwise than registered",
        [("what", "text"), ("in words", "text")],
        [(one.what, one.words) for one in found],
    )
    count = "no deviation" if not found else "1 deviation" if len(found) == 1 else f"{len(found)} deviations"
    return Section(
        "registration",
        "Registered and done otherwise",
        (
            f"The plan was registered on {registration.registered_at.date()} with SHA-256 {registration.sha256}; "
            f"the platform found {count} from it.",
        ),
        (),
        (hypotheses, others) if found else (hypotheses,),
    )
