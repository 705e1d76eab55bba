"""Check all invariants of the stored rows, which are listed here, or added by features.

Each check is a function with the name of the invariant. It yields a sentence for each row that contradicts the
invariant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain

from django.apps import apps
from django.utils.module_loading import import_string

from evaluation.data.invariants import judgments, money, people, studies, work
from evaluation.data.invariants.sentences import Sentences

CHECKS = (
    studies.designs_can_be_read,
    studies.drafts_are_empty,
    studies.generated_studies_have_hits,
    studies.units_are_in_one_hit,
    studies.rows_of_a_study_belong_together,
    studies.pairs_have_units,
    studies.pairs_name_known_references,
    studies.systems_name_boxes_of_their_images,
    work.slots_match_assignments,
    work.hits_ask_for_what_the_design_says,
    work.finished_work_is_complete,
    judgments.judgments_belong_to_finished_work,
    judgments.a_worker_judges_a_unit_once,
    people.exclusions_hold,
    judgments.values_are_allowed,
    studies.controls_know_their_answer,
    people.written_captions_have_their_writers,
    work.layouts_show_units_of_the_hit,
    judgments.revisions_replace_their_own,
    judgments.blocks_say_what_the_rows_say,
    work.work_in_progress_was_never_submitted,
    work.slots_are_saved_where_studies_stop_early,
    people.flags_name_their_exclusion,
    judgments.adjudications_are_of_judged_units,
    money.budgets_are_what_their_ledger_says,
    money.money_is_kept_within_a_budget,
    money.decided_sessions_are_booked,
    money.bonuses_that_are_done_are_spent,
    money.unpublished_hits_hold_no_money,
    money.paid_work_stays_in_its_study_and_platform,
    people.people_and_rehearsals_are_apart,
    studies.pictures_are_there,
    people.erasures_are_one_chain,
    people.erased_people_are_gone,
)

# Checks for data that are merely out of date, which is no problem.
STALENESS_CHECKS = (work.leases_that_ended, judgments.results_older_than_the_data)


@dataclass(frozen=True, slots=True)
class IntegrityFindings:
    """The number of ``checks``, broken invariants (``problems``), and stale data (``notes``): a sentence for each."""

    checks: int
    problems: list[str]
    notes: list[str]


def _checks_of_features() -> list[Callable[[], Sentences]]:
    """Return the integrity checks of all features, including features that are switched off."""
    checks: list[Callable[[], Sentences]] = []
    for app in apps.get_app_configs():
        checks += [import_string(path) for path in getattr(app, "integrity_checks", ())]
    return checks


def check_integrity() -> IntegrityFindings:
    checks = (*CHECKS, *_checks_of_features())
    return IntegrityFindings(len(checks), problems=_run_checks(checks), notes=_run_checks(STALENESS_CHECKS))


def _run_checks(checks: Iterable[Callable[[], Sentences]]) -> list[str]:
    return list(chain.from_iterable(check() for check in checks))
