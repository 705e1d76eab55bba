"""A study's states refuse what does not fit them, and its HITs are the same on every database."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, connection

from annotation.crowds.opening import close_study, open_study
from annotation.work.claims import claim_assignment
from common.errors import DataConflict, DesignError, ObjectNotFound, WrongState
from common.rows import loads
from judgments.design.reading.checking import make_design
from judgments.models import HIT, HITUnit, Study, Unit
from judgments.studies.designs import design_of
from judgments.studies.generation.hand_changes import withdraw_control
from judgments.studies.generation.hits import draw_hits, generate_hits, store_hits
from judgments.studies.generation.plans import plan_study
from judgments.studies.studies import (
    change_design,
    create_study,
    delete_study,
    duplicate_study,
    find_dataset,
)
from tests.installations import Installation
from tests.refusals import refuses
from tests.studies import make_dataset, make_study, make_worker


def indexes_of(model: type[Unit]) -> dict[str, Any]:
    with connection.cursor() as cursor:
        return connection.introspection.get_constraints(cursor, model._meta.db_table)


FOLDER = Path(__file__).parents[1] / "golden" / "walkthrough"


@pytest.mark.django_db
def test_without_datasets_the_refusal_says_so() -> None:
    with refuses(ObjectNotFound, "animals", "none yet"):
        find_dataset("animals")


@pytest.mark.django_db
class TestStates:
    """draft -> generated -> open -> closed"""

    def test_a_draft_s_design_can_change_and_a_generated_one_s_cannot(self) -> None:
        study = make_study(opened=False)
        changed = make_design(study.design | {"seed": 99})
        assert design_of(change_design(study=study, design=changed)).seed == 99
        generate_hits(study=study)
        with pytest.raises(WrongState, match="can no longer be changed"):
            change_design(study=study, design=changed)

    def test_hits_are_generated_once(self) -> None:
        study = make_study(opened=False)
        generate_hits(study=study)
        count = Unit.objects.count()
        with pytest.raises(WrongState, match="from a draft"):
            generate_hits(study=study)
        assert Unit.objects.count() == count

    def test_a_design_that_changed_during_the_draw_is_not_stored_over(self) -> None:
        study = make_study(opened=False)
        batch = draw_hits(study=study)
        change_design(study=Study.objects.get(), design=make_design(study.design | {"seed": 99}))
        with pytest.raises(WrongState, match="were being generated"):
            store_hits(study=study, batch=batch)
        assert Study.objects.get().state == "draft"
        assert not Unit.objects.exists()

    def test_a_failed_generation_leaves_a_draft(self) -> None:
        study = make_study(opened=False, sampling={"pairs": {"HC": 10_000}})
        with refuses(DesignError, "10000", "HC", field="sampling.pairs.HC"):
            generate_hits(study=study)
        study.refresh_from_db()
        assert study.state == "draft"
        assert not Unit.objects.exists()

    @pytest.mark.parametrize("fails", [False, True])
    def test_a_table_whose_indexes_are_built_after_its_rows_has_all_of_them(
        self, fails: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(loads, "MIN_REINDEXED_ROWS", 1)
        study = make_study(opened=False)
        batch = draw_hits(study=study)
        if fails:
            one = batch.hits[0]
            batch = replace(batch, hits=(*batch.hits, replace(one, key="again")))
        before = indexes_of(Unit)
        with pytest.raises(IntegrityError) if fails else nullcontext():
            store_hits(study=study, batch=batch)
        assert indexes_of(Unit) == before
        assert Unit.objects.exists() is not fails

    def test_opening_and_closing_twice_changes_nothing(self) -> None:
        study = make_study()
        open_study(study=study)
        opened = Study.objects.get().opened_at
        open_study(study=study)
        assert Study.objects.get().opened_at == opened
        close_study(study=study)
        close_study(study=study)
        assert Study.objects.get().state == "closed"

    def test_a_paid_crowd_is_refused_at_opening_where_nothing_is_paid(self) -> None:
        study = make_study(opened=False, crowd={"backend": "mturk"})
        generate_hits(study=study)
        with pytest.raises(WrongState, match="pays nothing"):
            open_study(study=study)

    def test_only_what_was_never_opened_can_be_deleted(self) -> None:
        study = make_study(opened=False)
        delete_study(study=duplicate_study(study=study))
        generate_hits(study=study)
        delete_study(study=study)
        assert not Study.objects.exists()
        opened = make_study()
        worker, _ = make_worker(opened)
        claim_assignment(study=opened, worker=worker)
        with pytest.raises(WrongState, match="never opened"):
            delete_study(study=opened)

    def test_a_duplicate_is_a_draft_with_the_same_design(self) -> None:
        study = make_study()
        copy = duplicate_study(study=study)
        assert copy.state == "draft"
        assert copy.slug != study.slug
        keep = {"slug", "name"}
        assert {k: v for k, v in copy.design.items() if k not in keep} == {
            k: v for k, v in study.design.items() if k not in keep
        }

    def test_a_taken_slug_and_a_missing_dataset_are_named(self) -> None:
        study = make_study(opened=False)
        with refuses(DataConflict, study.slug):
            create_study(design=design_of(study))
        with refuses(DesignError, "nowhere", "animals", field="dataset"):
            create_study(design=make_design({"name": "x", "dataset": "nowhere", "protocol": "triplet"}))

    def test_the_plan_is_what_generation_then_makes(self) -> None:
        for protocol in ("triplet", "pairwise", "relevance", "graded"):
            study = make_study(protocol, opened=False)
            plan = plan_study(design_of(study), study.dataset)
            generate_hits(study=study)
            units = Unit.objects.filter(study=study)
            assert plan.units == units.filter(control=False).count()
            assert plan.controls == units.filter(control=True).count()
            assert plan.hits == HIT.objects.filter(study=study).count()
            assert plan.judgments == 3 * units.count()
            assert plan.hours == pytest.approx(plan.judgments * design_of(study).seconds_per_unit / 3600)

    def test_a_struck_control_is_shown_to_nobody(self) -> None:
        study = make_study("relevance", opened=False)
        generate_hits(study=study)
        control = Unit.objects.filter(study=study, control=True).first()
        judged = Unit.objects.filter(study=study, control=False).first()
        assert control is not None
        assert judged is not None
        withdraw_control(study=study, unit_key=control.key)
        assert not HITUnit.objects.filter(unit=control).exists()
        with pytest.raises(WrongState, match="a check question"):
            withdraw_control(study=study, unit_key=judged.key)
        open_study(study=study)
        seen = Unit.objects.filter(study=study, control=True, withdrawn=False)[0]
        withdraw_control(study=study, unit_key=seen.key)
        assert HITUnit.objects.filter(unit=seen).exists(), "workers may hold it"


def test_the_same_design_gives_the_same_bytes_on_each_database(
    database: str, installation_on: Callable[[str], Installation], tmp_path: Path
) -> None:
    installation = installation_on(database)
    installation.manage("import_dataset", "jsonl", str(FOLDER / "dataset.jsonl"), "--name", "scenes")
    for system in ("careless", "careful"):  # not the walkthrough's order: it plays no part
        installation.manage(
            "import_candidates", "jsonl", str(FOLDER / f"{system}.jsonl"), "--dataset", "scenes", "--system", system
        )  # fmt: skip
    installation.manage("create_study", str(FOLDER / "study.toml"))
    installation.manage("generate_hits", "walkthrough", "--output", str(tmp_path / "hits.jsonl"))
    assert (tmp_path / "hits.jsonl").read_bytes() == (FOLDER / "hits.jsonl").read_bytes()


@pytest.mark.django_db
def test_another_seed_gives_other_hits() -> None:
    make_dataset()
    one = make_study(name="One", seed=1)
    two = make_study(name="Two", seed=2)
    assert set(one.hits.values_list("key", flat=True)).isdisjoint(two.hits.values_list("key", flat=True))
