"""Check all invariants of the stored rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.apps import apps
from django.utils.module_loading import import_string

from evaluation.data.invariants.judgments import (
    a_worker_judges_a_unit_once,
    adjudications_are_of_judged_units,
    blocks_say_what_the_rows_say,
    judgments_belong_to_finished_work,
    results_older_than_the_data,
    revisions_replace_their_own,
    values_are_allowed,
)
from evaluation.data.invariants.money import (
    bonuses_that_are_done_are_spent,
    budgets_are_what_their_ledger_says,
    decided_sessions_are_booked,
    money_is_kept_within_a_budget,
    paid_work_stays_in_its_study_and_place,
    unpublished_hits_hold_no_money,
)
from evaluation.data.invariants.people import (
    erased_people_are_gone,
    erasures_are_one_chain,
    exclusions_hold,
    flags_name_their_exclusion,
    people_and_rehearsals_are_apart,
    written_captions_have_their_writers,
)
from evaluation.data.invariants.sentences import Sentences
from evaluation.data.invariants.studies import (
    controls_know_their_answer,
    designs_can_be_read,
    drafts_are_empty,
    generated_studies_have_hits,
    pairs_have_units,
    pairs_name_known_references,
    pictures_are_there,
    rows_of_a_study_belong_together,
    systems_name_boxes_of_their_images,
    units_stand_in_one_hit,
)
from evaluation.data.invariants.work import (
    finished_work_is_complete,
    hits_ask_for_what_the_design_says,
    layouts_show_units_of_the_hit,
    leases_that_ended,
    slots_are_saved_where_studies_stop_early,
    slots_match_assignments,
    work_that_is_held_was_never_sent,
)

CHECKS = (
    designs_can_be_read,
    drafts_are_empty,
    generated_studies_have_hits,
    units_stand_in_one_hit,
    rows_of_a_study_belong_together,
    pairs_have_units,
    pairs_name_known_references,
    systems_name_boxes_of_their_images,
    slots_match_assignments,
    hits_ask_for_what_the_design_says,
    finished_work_is_complete,
    judgments_belong_to_finished_work,
    a_worker_judges_a_unit_once,
    exclusions_hold,
    values_are_allowed,
    controls_know_their_answer,
    written_captions_have_their_writers,
    layouts_show_units_of_the_hit,
    revisions_replace_their_own,
    blocks_say_what_the_rows_say,
    work_that_is_held_was_never_sent,
    slots_are_saved_where_studies_stop_early,
    flags_name_their_exclusion,
    adjudications_are_of_judged_units,
    budgets_are_what_their_ledger_says,
    money_is_kept_within_a_budget,
    decided_sessions_are_booked,
    bonuses_that_are_done_are_spent,
    unpublished_hits_hold_no_money,
    paid_work_stays_in_its_study_and_place,
    people_and_rehearsals_are_apart,
    pictures_are_there,
    erasures_are_one_chain,
    erased_people_are_gone,
)

NOTES = (leases_that_ended, results_older_than_the_data)


@dataclass(frozen=True, slots=True)
class IntegrityFindings:
    """Broken invariants (``problems``), and stale data (``notes``), with one sentence for each."""

    problems: list[str]
    notes: list[str]


def _checks_of_features() -> list[Callable[[], Sentences]]:
    """Return the integrity checks of all features, including features that are switched off."""
    paths = (path for app in apps.get_app_configs() for path in getattr(app, "integrity_checks", ()))
    return [import_string(path) for path in paths]


def check_integrity() -> IntegrityFindings:
    return IntegrityFindings(
        problems=[sentence for check in (*CHECKS, *_checks_of_features()) for sentence in check()],
        notes=[sentence for check in NOTES for sentence in check()],
    )
