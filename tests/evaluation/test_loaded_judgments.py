"""A study's judgments as arrays, digit for digit as row by row, and the signature that says how they were made."""

import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone
from django.utils.module_loading import import_string

from annotation.models import Assignment, Exclusion, Judgment, Worker
from annotation.quality.exclusions import exclude_worker, lift_exclusion
from annotation.quality.reviews import reject_assignments
from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from evaluation.data.export.exporting import export_judgments
from evaluation.data.integrity import check_integrity
from evaluation.data.judgment_sets import blocks, material_digest
from evaluation.data.judgment_sets.blocks import extend_blocks
from evaluation.data.judgment_sets.data_hash import DataHash
from evaluation.data.judgment_sets.loaders import control_records_of, load_judgments
from evaluation.data.judgment_sets.study_signatures import (
    hash_of_judgments,
    material_of,
    signature_of_study,
    uncommon_fields,
    votes_of,
    votes_of_table,
)
from evaluation.models import Analysis, ColumnBlock, Consensus
from evaluation.results.aggregation import aggregate_study
from evaluation.results.consensus import outcomes, storage
from judgments.jobs.registry import periodic_tasks
from judgments.models import Caption, Item, Study
from judgments.studies.generation.hand_changes import withdraw_control
from quorum.numeric.signatures import parse
from tests.annotation import casting
from tests.annotation.voting import always_first, joined, work
from tests.evaluation.studies import StudyOf, make_dataset
from tests.marks import long_except
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
PEOPLE = 8


def revised(judgment: Judgment, value: int) -> Judgment:
    """The worker thinks again."""
    return Judgment.objects.create(
        assignment_id=judgment.assignment_id,
        unit_id=judgment.unit_id,
        value=value,
        presented=judgment.presented,
        seconds=judgment.seconds,
        replaces=judgment,
        made_at=timezone.now(),
    )


def check(study: Study) -> None:
    """Arrays, hash and counts of votes say the same as counting row by row."""
    table = load_judgments(study)
    assert table.data_hash == hash_of_judgments(study)
    assert votes_of_table(table) == votes_of(study)
    assert table.records == control_records_of(study)
    standing = {
        (one.pk, one.unit_id, one.assignment.worker_id, one.value, one.seconds or -1.0)
        for one in Judgment.objects.current().filter(assignment__study=study).select_related("assignment")
    }
    columns = (table.pk, table.unit, table.worker, table.value, np.nan_to_num(table.seconds, nan=-1.0))
    assert set(zip(*(column.tolist() for column in columns), strict=True)) == standing


@pytest.mark.parametrize("seed", long_except([1, 2], 1))
def test_whatever_happens_the_figures_are_those_of_counting_row_by_row(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "IDS_PER_BLOCK", 1)
    monkeypatch.setattr(blocks, "MAX_ROWS", 7)
    lot = random.Random(seed)
    study = casting.make_study(
        casting.make_dataset(pictures=False),
        "pairwise",
        judgments_per_unit=PEOPLE,
        controls={"per_hit": 1, "threshold": 0.4},
    )
    steps = ["work"] * PEOPLE + ["revise"] * 6 + ["exclude", "exclude", "lift", "reject", "strike"]
    lot.shuffle(steps)
    for number, step in enumerate(["work", *steps]):
        happens(study, step, lot, number)
        if number % 4 == seed:  # what comes later is read beside the blocks
            extend_blocks(study)
        check(study)
    assert str(signature_of_study(study)) == aggregate_study(study=study)["signature"]
    assert Judgment.objects.filter(replaces__isnull=False).exists()
    stored = ColumnBlock.objects.filter(study=study, what="judgments").order_by("first")
    assert [one.first for one in stored] == [0, *(one.last for one in stored)][:-1]
    assert stored.count() > PEOPLE
    assert check_integrity().problems == []
    study.units.filter(pk=study.units.earliest("pk").pk).update(kind="XX")
    assert any("the stored columns of units" in problem for problem in check_integrity().problems)


@pytest.mark.parametrize("seed", long_except([1, 2], 2))
def test_whatever_happens_the_stored_consensus_is_that_of_a_new_computation(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches whose digest is that of before are not read again."""
    monkeypatch.setattr(storage, "DIGESTED_FROM", 1)
    monkeypatch.setattr(outcomes, "ROWS_PER_BATCH", 2)
    lot = random.Random(seed)
    study = casting.make_study(
        casting.make_dataset(pictures=False),
        "pairwise",
        judgments_per_unit=PEOPLE,
        controls={"per_hit": 1, "threshold": 0.4},
    )
    steps = ["work"] * PEOPLE + ["revise"] * 6 + ["exclude", "exclude", "lift", "reject", "row lost"]
    lot.shuffle(steps)
    for number, step in enumerate(["work", *steps]):
        happens(study, step, lot, number)
        if step == "row lost":
            Consensus.objects.filter(study=study)[:1].get().delete()
        units = {unit["unit"]: unit for unit in aggregate_study(study=study)["units"] if unit["n"]}
        stored = Consensus.objects.filter(study=study, unit__isnull=False)
        rows = stored.values_list("unit__key", "n", "value", "share", "margin", "tie")
        assert {key: tuple(cells) for key, *cells in rows} == {
            key: tuple(unit[name] for name in ("n", "value", "share", "margin", "tie"))
            for key, unit in units.items()
        }


def test_a_consensus_that_was_changed_by_hand_is_made_anew_from_the_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(storage, "DIGESTED_FROM", 1)
    study = casting.make_study(casting.make_dataset(pictures=False), "pairwise", judgments_per_unit=2)
    work(study, joined(study, "early"), always_first)
    aggregate_study(study=study)
    votes = list(Consensus.objects.order_by("unit").values_list("n", "value", "votes"))
    Consensus.objects.update(n=77, value=2)
    call_command("aggregate", study.slug, "--from-rows")
    assert list(Consensus.objects.order_by("unit").values_list("n", "value", "votes")) == votes


def in_blocks(monkeypatch: pytest.MonkeyPatch, protocol: str = "pairwise") -> Study:
    """Return a study with one worker's judgments in blocks, which end with the last judgment of another study."""
    dataset = casting.make_dataset(pictures=False)
    study = casting.make_study(dataset, protocol, judgments_per_unit=3)
    work(study, joined(study, "early"), always_first)
    other = casting.make_study(dataset, protocol, judgments_per_unit=2, name="other")
    work(other, joined(other, "elsewhere"), always_first)
    monkeypatch.setattr(blocks, "IDS_PER_BLOCK", 1)
    extend_blocks(study)
    return study


def test_the_background_worker_stores_columns_of_studies_with_new_judgments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dataset = casting.make_dataset(pictures=False)
    older, newer = (
        casting.make_study(dataset, "pairwise", judgments_per_unit=2, name=name)
        for name in ("older", "newer")
    )
    for study in (older, newer):
        work(study, joined(study, f"of {study.name}"), always_first)
    monkeypatch.setattr(blocks, "IDS_PER_BLOCK", Judgment.objects.of_study(newer).count())
    (task,) = (task for task in periodic_tasks() if task.task_name == "quorum.extend_recent_blocks")
    import_string(task.function)()
    stored = ColumnBlock.objects.filter(what="judgments")
    assert {block.study_id for block in stored} == {newer.pk}
    assert sum(block.rows for block in stored) == Judgment.objects.of_study(newer).count()
    assert check_integrity().problems == []


def test_the_newest_judgment_is_asked_of_the_blocks_first(monkeypatch: pytest.MonkeyPatch) -> None:
    study = in_blocks(monkeypatch)
    end = ColumnBlock.objects.filter(study=study, what="judgments").latest("last").last
    assert blocks.last_judgment_bound(study) == end > Judgment.objects.of_study(study).latest("pk").pk
    work(study, joined(study, "late"), always_first, most=1)
    assert blocks.last_judgment_bound(study) == Judgment.objects.of_study(study).latest("pk").pk > end


def test_a_judgment_with_the_id_of_a_deleted_one_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    study = in_blocks(monkeypatch)
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM annotation_judgment WHERE assignment_id IN "
            "(SELECT id FROM annotation_assignment WHERE study_id <> %s)",
            [study.pk],
        )
        # as after a migration that makes the table anew
        cursor.execute(
            "UPDATE sqlite_sequence SET seq = (SELECT MAX(id) FROM annotation_judgment) "
            "WHERE name = 'annotation_judgment'"
        )
    work(study, joined(study, "late"), always_first, most=1)
    ends = ColumnBlock.objects.filter(study=study, what="judgments").latest("last").last
    assert Judgment.objects.of_study(study).latest("pk").pk <= ends
    check(study)
    assert list(blocks.wrong_blocks()) != []

    work(study, joined(study, "later"), always_first)
    extend_blocks(study)
    check(study)
    assert list(blocks.wrong_blocks()) == []
    assert ColumnBlock.objects.filter(study=study, what="judgments").exists()


@pytest.mark.parametrize("damage", long_except(["other columns", "no Arrow", "a gap"], "other columns"))
def test_blocks_that_are_not_those_of_the_rows_are_named_and_made_anew(
    damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "MAX_ROWS", 3)
    study = in_blocks(monkeypatch)
    own = ColumnBlock.objects.filter(study=study, what="judgments")
    if damage == "other columns":
        own.filter(pk=own[0].pk).update(columns=own[1].columns)
    elif damage == "no Arrow":
        own.filter(pk=own[0].pk).update(columns=b"unreadable")
    else:
        own.filter(pk=own[1].pk).delete()
        check(study)
    advice = f"If the rows are right, `aggregate {study.slug} --from-rows` stores the columns anew."
    assert [problem for problem in check_integrity().problems if problem.endswith(advice)]

    call_command("aggregate", study.slug, "--from-rows")
    assert check_integrity().problems == []
    check(study)


def test_blocks_of_another_format_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    study = in_blocks(monkeypatch)
    ColumnBlock.objects.update(format=blocks.FORMAT - 1, columns=b"of an earlier version")
    check(study)
    assert check_integrity().problems == []
    extend_blocks(study)
    check(study)
    assert set(ColumnBlock.objects.values_list("format", flat=True)) == {blocks.FORMAT}


def happens(study: Study, step: str, lot: random.Random, number: int) -> None:
    """One thing that may happen to a study."""
    if step == "work":
        person = joined(study, f"{'zyx'[number % 3]}-{number}")
        work(study, person, lambda unit, worker: lot.choice([1, 2]))
    elif step == "revise":
        rows = Judgment.objects.current().filter(assignment__study=study).order_by("pk")
        if rows:
            revised(lot.choice(list(rows)), lot.choice([1, 2]))
    elif step == "exclude":
        out = Exclusion.objects.filter(study=study, lifted_at__isnull=True).values("worker")
        there = Worker.objects.exclude(pk__in=out).filter(participations__study=study).order_by("pk")
        if there:
            exclude_worker(study=study, worker=lot.choice(list(there)), why="careless")
    elif step == "lift":
        standing = list(Exclusion.objects.filter(study=study, lifted_at__isnull=True).order_by("pk"))
        if standing:
            lift_exclusion(exclusion=lot.choice(standing), why="mistaken")
    elif step == "reject":
        waiting = Assignment.objects.filter(study=study, state="submitted").order_by("pk")
        if waiting:
            reject_assignments(study=study, assignments=[lot.choice(list(waiting)).pk], reason="careless")
    elif step == "strike":
        controls = list(study.units.filter(control=True, withdrawn=False).order_by("position"))
        withdraw_control(study=study, unit_key=lot.choice(controls).key)


def test_only_what_came_in_by_then_is_taken_in() -> None:
    study = casting.make_study(casting.make_dataset(pictures=False), "pairwise", judgments_per_unit=2)
    work(study, joined(study, "early"), lambda unit, worker: 1)
    before = load_judgments(study)
    work(study, joined(study, "late"), lambda unit, worker: 2)
    then = load_judgments(study, newest=int(before.pk.max()))
    assert then.pk.tolist() == before.pk.tolist()
    assert then.data_hash == before.data_hash != load_judgments(study).data_hash


def test_open_answers_stand_beside_values_in_their_order() -> None:
    study = casting.make_study(
        casting.make_dataset(pictures=False),
        "caption",
        judgments_per_unit=2,
        opened=False,
        controls={"per_hit": 0},
    )
    rehearse(study=study, crowd=RehearsalCrowd(workers=4, seed=1))
    table = load_judgments(study)
    assert table.data_hash == hash_of_judgments(study)
    assert np.isnan(table.value).all()
    known = dict(Judgment.objects.values_list("pk", "answer"))
    assert list(table.answer) == [known[pk] for pk in table.pk.tolist()]
    assert str(signature_of_study(study)) == str(signature_of_study(study, table=table))


@pytest.mark.parametrize("ids", ["close together", "far apart"])
@pytest.mark.parametrize("protocol", ["triplet", "pairwise"])
def test_the_digest_of_the_material_is_the_same_of_columns_and_of_rows(
    protocol: str, ids: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "IDS_PER_BLOCK", 1)
    monkeypatch.setattr(material_digest, "UNITS_PER_BATCH", 3)
    dataset = casting.make_dataset(pictures=False)
    study = casting.make_study(dataset, protocol)
    for number, odd in enumerate(['"quoted" \\ and\n', "déjà 😀", "\x7f\u2028", ""]):
        caption = Caption.objects.filter(dataset=dataset).order_by("pk")[number]
        Caption.objects.filter(pk=caption.pk).update(text=odd)
    study.units.filter(pk=study.units.earliest("pk").pk).update(content={"é": [2, 1], "a": None})
    if ids == "far apart":
        last = Item.objects.create(pk=10**6, dataset=dataset, name="last", position=10**6)
        first = Caption.objects.create(
            pk=10**6, dataset=dataset, key="far", text="Far away .", role="candidate"
        )
        study.units.filter(pk=study.units.latest("pk").pk).update(item=last, first=first)
    extend_blocks(study)
    assert material_digest.digest_of_material(study, from_blocks=True) == uncommon_fields(study)["material"]
    assert material_of(study, from_blocks=True) == material_of(study)


def test_a_study_without_judgments_is_an_empty_table() -> None:
    study = casting.make_study(casting.make_dataset(pictures=False), "pairwise")
    table = load_judgments(study)
    assert len(table) == 0
    assert table.data_hash == hash_of_judgments(study) == DataHash().hexdigest()


@pytest.mark.parametrize(
    "units", [['u"1', "ü\n2"], ["u-1", "ü 2"], ["u\\1", "/2"], ["u\x001", "\x7f\u2028"], ["", "\x1f"]]
)
def test_many_judgments_are_hashed_as_one_by_one(units: list[str]) -> None:
    workers, answers = ["ann", "bob"], [1, None, {"b": [1, 2.5], "a": "é"}]
    rows: list[tuple[Any, ...]] = [(0, 0, 0, 1), (0, 1, 2, 0), (1, 0, 1, 1), (1, 1, 0, 0)]
    one_by_one, together, as_column = DataHash(), DataHash(), DataHash()
    for unit, worker, answer, used in rows:
        one_by_one.add(units[unit], workers[worker], answers[answer], bool(used))
    codes = [np.array(column) for column in zip(*rows, strict=True)]
    together.add_coded(units, workers, answers, codes)
    as_column.add_coded(pa.array(units), workers, answers, codes)
    assert together.hexdigest() == as_column.hexdigest() == one_by_one.hexdigest()


LEFT, RIGHT = "first-left", "second-left"


@pytest.fixture(scope="module")
def triplets(module_db: None) -> StudyOf:
    """Two pairs with two references each; three workers, one of whom fails the control item and one leaves a page."""
    dataset = make_dataset("toy", {"a.jpg": ["a dog", "one dog"], "b.jpg": ["a cat", "one cat"]})
    study = StudyOf(dataset, "triplet", controls={"per_hit": 1, "threshold": 0.7}, seed=11)
    hits = []
    for image, key in (("a.jpg", "p1"), ("b.jpg", "p2")):
        pair = study.pair(key, image, f"first of {key}", f"second of {key}")
        references = list(pair.item.references.order_by("position"))
        units = [
            study.unit(f"{key}-{place}", pair=pair, reference=one) for place, one in enumerate(references)
        ]
        control = study.unit(f"c-{key}", image, first="x", control=True, expected=1)
        hits.append(study.hit(f"h-{key}", [*units, control]))
    for hit in hits:
        study.answer(hit, "w-1", [1, 1, 1], presented=[LEFT, RIGHT, LEFT])
        study.answer(hit, "w-3", [2, 2, 2], presented=[LEFT, LEFT, LEFT])
    study.answer(hits[0], "w-2", [1, 2, 1], presented=[LEFT, RIGHT, LEFT])
    return study


def test_it_says_how_the_judgments_came_about(triplets: StudyOf) -> None:
    found = signature_of_study(triplets.study)
    assert re.match(
        r"triplet\|pairs:2\|units:4\|imgs:2\|refs:2\|votes:1-2\|sides:0.5\|ctrl:0.7\|agg:majority-then-pairs"
        r"\|ties:set-aside\|design:[0-9a-f]{16}\|material:[0-9a-f]{16}\|seed:11\|data:",
        str(found),
    )
    assert parse(str(found)) == found
    assert signature_of_study(triplets.study, table=load_judgments(triplets.study)) == found
    assert len(str(found.fields["data"])) == 16


def test_a_unit_without_a_counted_vote_is_seen_in_the_votes(triplets: StudyOf) -> None:
    pair = triplets.study.pairs.first()
    triplets.unit("unjudged", pair=pair)
    assert signature_of_study(triplets.study).fields["votes"] == "0-2"


def test_an_answer_more_changes_the_data_and_the_votes(triplets: StudyOf) -> None:
    before = signature_of_study(triplets.study)
    triplets.answer(triplets.study.hits.get(key="h-p2"), "w-2", [1, 1, 1], presented=[RIGHT, LEFT, LEFT])
    after = signature_of_study(triplets.study)
    assert {name for name in after.fields if after.fields[name] != before.fields[name]} == {"votes", "data"}


def test_units_of_one_caption_have_neither_pairs_nor_sides() -> None:
    study = StudyOf(make_dataset("one", {"a.jpg": ["a dog"]}), "relevance", controls={"per_hit": 0})
    study.answer(study.hit("h", [study.unit("u", "a.jpg", first="a cat")]), "w-1", [1])
    text = str(signature_of_study(study.study))
    assert text.startswith(
        "relevance|units:1|imgs:1|refs:0|votes:1|sides:none|ctrl:none|agg:two-thirds|ties:no-ties"
    )


def test_simulated_answers_are_named(triplets: StudyOf) -> None:
    study = Study.objects.get(pk=triplets.study.pk)
    study.simulated = True
    assert signature_of_study(study).fields["people"] == "simulated"


def test_results_and_manifests_carry_it(triplets: StudyOf, tmp_path: Path) -> None:
    signature = str(signature_of_study(triplets.study))
    assert aggregate_study(study=triplets.study)["signature"] == signature
    assert Analysis.objects.get().judgments == signature
    manifest = export_judgments(study=triplets.study, format="csv", output=tmp_path / "j.csv").manifest
    assert manifest["judgment_signature"] == signature
    # the same judgments in full and in short
    assert manifest["judgments_sha256"].startswith(str(parse(signature).fields["data"]))


def test_verify_computes_a_signature_again(triplets: StudyOf, capsys: pytest.CaptureFixture[str]) -> None:
    signature = str(signature_of_study(triplets.study))
    call_command("verify", signature, "--study", triplets.study.slug)
    assert "The signature holds" in capsys.readouterr().out
    wrong = signature.replace("pairs:2", "pairs:3").replace("seed:11", "seed:12")
    with refuses(CommandError, "differ", "2"):
        call_command("verify", wrong, "--study", triplets.study.slug)
    said = capsys.readouterr().out
    assert "pairs: stated 3, found 2" in said
    assert "seed: stated 12, found 11" in said


@pytest.mark.parametrize("text", ["|", "triplet|pairs", "a|b:1"])
def test_verify_refuses_what_is_no_signature(triplets: StudyOf, text: str) -> None:
    with pytest.raises(CommandError, match="is no signature"):
        call_command("verify", text, "--study", triplets.study.slug)


def test_verify_asks_which_study_a_signature_is_of() -> None:
    with pytest.raises(CommandError, match="expected --study SLUG"):
        call_command("verify", "triplet|seed:1|v:1")


def test_verify_of_a_study_tells_stored_results_that_the_rows_do_not_give(
    triplets: StudyOf, capsys: pytest.CaptureFixture[str]
) -> None:
    slug = triplets.study.slug
    with pytest.raises(CommandError, match="no stored results"):
        call_command("verify", slug)
    aggregate_study(study=triplets.study)
    call_command("verify", slug)
    assert "holds" in capsys.readouterr().out
    analysis = Analysis.objects.get()
    result = json.loads(json.dumps(analysis.result))
    result["agreement"]["alpha"]["judgments"] += 1
    Analysis.objects.filter(pk=analysis.pk).update(result=result)
    with pytest.raises(CommandError, match="does not hold"):
        call_command("verify", slug)
    assert "agreement.alpha.judgments" in capsys.readouterr().out
    told = analysis.judgments.replace("|seed:11|", "|seed:12|")
    assert told != analysis.judgments
    Analysis.objects.filter(pk=analysis.pk).update(result=analysis.result, judgments=told)
    with pytest.raises(CommandError, match="does not hold"):
        call_command("verify", slug)
    assert "seed" in capsys.readouterr().out
