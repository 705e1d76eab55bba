"""The page of a HIT: as workers see it, its items, holders and answers; and changes by hand, until the study opens."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from annotation.work.claims import claim_assignment
from common.errors import DesignError, WrongState
from evaluation.data.integrity import check_integrity
from judgments.access.roles import give_role
from judgments.design.reading.checking import make_design
from judgments.design.reading.study_files import read_toml, write_toml
from judgments.drawing.by_hand import shown_texts
from judgments.models import HIT, CandidatePair, Caption, Dataset, Output, Study, System, Unit
from judgments.studies.designs import design_of
from judgments.studies.discarding import discard_hits
from judgments.studies.generation.hand_changes import change_by_hand, state_of_hand_changes, withdraw_control
from judgments.studies.generation.hits import generate_hits
from judgments.studies.studies import change_design, create_study, mark_open
from tests.annotation.scenes import CAPTIONS, make_scenes
from tests.doors import DOORS, Call
from tests.judgments.desk import page, words
from tests.judgments.test_discarding import drawn, fresh
from tests.marks import long_except
from tests.refusals import assert_names, refuses
from tests.studies import hand_in, make_study, make_worker

KINDS = (
    "triplet",
    "pairwise",
    "relevance",
    "graded",
    "slider",
    "best-worst",
    "spans",
    "keywords",
    "grounding",
    "caption",
)
SETTINGS: dict[str, dict[str, Any]] = {
    "triplet": {"sampling": {"pairs": {"MM": 6}}},
    "pairwise": {"sampling": {"pairs": {"MM": 6}}},
    "relevance": {"images_per_hit": 3, "captions_per_image": 4},
    "best-worst": {"sampling": {"options": 3}},
}


def scenes() -> Dataset:
    """Eight scenes with two references, a text, boxes, and three systems' captions."""
    dataset = make_scenes(images=8, pictures=False)
    for number in range(3):
        system = System.objects.create(dataset=dataset, name=f"system-{number}")
        for item in dataset.items.all():
            text = f"System {number} sees scene {item.position}"
            caption = Caption.objects.create(
                dataset=dataset, key=f"c-{number}-{item.position}", text=text, role="candidate"
            )
            Output.objects.create(system=system, item=item, caption=caption)
    return dataset


def study_of(protocol: str, **values: Any) -> Study:
    """A draft on the scenes."""
    scenes()
    size = {} if protocol == "relevance" else {"units_per_hit": 4}
    return create_study(
        design=make_design(
            {"name": protocol, "dataset": "scenes", "protocol": protocol, "seed": 5}
            | size | SETTINGS.get(protocol, {}) | values
        )
    )  # fmt: skip


def generated(protocol: str, **values: Any) -> Study:
    study = study_of(protocol, **values)
    generate_hits(study=study)
    return fresh(study)


def judged(study: Study, number: int = 1) -> Unit:
    """The first judged item of a page."""
    hit = study.hits.get(position=number - 1)
    place = hit.places.filter(unit__control=False).select_related("unit").order_by("position").first()
    assert place is not None
    return place.unit


@pytest.mark.django_db
@pytest.mark.parametrize(
    "protocol",
    long_except(KINDS, "pairwise", "spans"),
)
def test_items_of_every_kind_are_pulled_out_replaced_and_written(protocol: str, designer: Client) -> None:
    study = generated(protocol)
    first = judged(study)
    texts = shown_texts(first)
    assert bool(texts) == (protocol != "caption")
    if texts:
        name = list(texts)[-1]
        study = change_by_hand(study=study, change={"item": first.key, "texts": {name: "A dog by hand"}})
        new = judged(study)
        assert shown_texts(new) == texts | {name: "A dog by hand"}
        assert not Unit.objects.filter(study=study, key=first.key).exists()
        first = new
    study = change_by_hand(study=study, change={"item": first.key, "image": "scene-7.jpg", "hit": 1})
    by_hand = study.hits.latest("position")
    assert {unit.item.name for unit in by_hand.units.all()} == {"scene-7.jpg"}
    assert by_hand.units.filter(control=True).count() == 0
    units = study.units.count()
    study = change_by_hand(study=study, change={"item": first.key, "out": True})
    assert study.units.filter(key=first.key).count() == 0
    assert study.units.count() < units
    # the design holds it all: its file gives the same pages elsewhere, and so does another draw
    assert design_of(study) == read_toml(write_toml(design_of(study)))
    before = drawn(study)
    discard_hits(study=study)
    generate_hits(study=fresh(study))
    assert drawn(fresh(study)) == before
    assert check_integrity().problems == []
    for number in range(1, study.hits.count() + 1):
        shown = designer.get(f"/s/{study.slug}/preview/?number={number}")
        assert shown.status_code == 200
    beyond = designer.get(f"/s/{study.slug}/preview/?number={study.hits.count() + 1}")
    assert (beyond.status_code, "no page of work" in beyond.content.decode()) == (409, True)
    mark_open(study=fresh(study))
    worker, _ = make_worker(fresh(study))
    assert claim_assignment(study=fresh(study), worker=worker) is not None


@pytest.mark.django_db
def test_a_changed_text_credits_no_system_and_another_reference_leaves_the_systems_theirs() -> None:
    study = generated("triplet")
    pairs, unit = study.pairs.count(), judged(study)
    assert unit.pair is not None
    before = unit.pair
    study = change_by_hand(study=study, change={"item": unit.key, "texts": {"reference": CAPTIONS[1]}})
    pair = judged(study).pair
    assert pair is not None
    assert (pair.first_system, pair.second_system) == (before.first_system, before.second_system)
    assert (pair.kind, pair.key == before.key) == ("MM", False)
    study = change_by_hand(study=study, change={"item": judged(study).key, "texts": {"first": "Nobody's"}})
    pair = CandidatePair.objects.get(study=study, first__text="Nobody's")
    assert (pair.first_system, pair.second_system, pair.kind) == (None, None, "")
    # the drawn pair is still judged by its other unit, against that one's reference alone
    assert study.pairs.count() == pairs + 1
    assert len(study.pairs.get(key=before.key).references) == len(before.references) - 1


@pytest.mark.django_db
def test_control_items_are_pulled_out_or_moved_but_never_changed() -> None:
    study = make_study("pairwise", opened=False, controls={"per_hit": 2, "kinds": ["repeated", "reference"]})
    generate_hits(study=study)
    study = fresh(study)
    repetition = study.units.filter(control_kind="repeated", places__isnull=False).first()
    reference = study.units.filter(control_kind="reference", places__isnull=False).first()
    assert repetition is not None
    assert reference is not None
    with refuses(DesignError, field="by_hand"):
        change_by_hand(study=study, change={"item": reference.key, "texts": {"first": "x"}})
    with refuses(DesignError, field="by_hand"):
        change_by_hand(study=study, change={"item": repetition.key, "hit": 1})
    original = study.units.get(key=repetition.content["repeats"])
    study = change_by_hand(study=fresh(study), change={"item": original.key, "texts": {"first": "Changed"}})
    twins = study.units.filter(first__text="Changed").order_by("control")
    assert [unit.control_kind for unit in twins] == ["", "repeated"]
    assert twins[1].content["repeats"] == twins[0].key
    study = change_by_hand(study=study, change={"item": twins[0].key, "out": True})
    assert not study.units.filter(first__text="Changed").exists()
    # a withdrawn one stays out
    withdraw_control(study=study, unit_key=reference.key)
    study = change_by_hand(study=fresh(study), change={"item": judged(study).key, "out": True})
    assert not study.units.filter(key=reference.key).exists()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"item": "nothing", "out": True}, r"by_hand.*\b1\b.*nothing"),
        ({"texts": {"third": "x"}}, "third.*first.*second"),
        ({"texts": {"first": " "}}, "first"),
        ({"image": "none.jpg"}, r"none\.jpg"),
        ({}, "has no effect"),
    ],
)
def test_what_cannot_be_done_is_refused_and_changes_nothing(change: dict[str, Any], said: str) -> None:
    study = generated("pairwise")
    before = drawn(study)
    with pytest.raises(DesignError, match=said):
        change_by_hand(study=study, change={"item": judged(study).key} | change)
    assert (drawn(fresh(study)), fresh(study).state) == (before, "generated")


@pytest.mark.django_db
def test_neither_an_opened_study_nor_an_arena_is_changed() -> None:
    study = make_study("pairwise")
    item = {"item": judged(study).key, "out": True}
    with refuses(WrongState, "participants"):
        change_by_hand(study=study, change=item)
    hand_in(study)
    with pytest.raises(WrongState, match="taken"):
        change_by_hand(study=study, change=item)
    with refuses(DesignError, field="by_hand"):
        make_design(
            {"name": "x", "dataset": "animals", "protocol": "pairwise", "sampling": {"pairs": {"MM": 4}}}
            | {"arena": {"pages": 3}, "by_hand": [item]}
        )


@pytest.mark.django_db
def test_saving_the_design_keeps_changes_and_what_is_not_drawn_any_more_is_said() -> None:
    study = study_of("pairwise")
    bare = design_of(study)
    generate_hits(study=study)
    item = judged(fresh(study)).key
    discard_hits(study=fresh(study))
    study = change_by_hand(study=fresh(study), change={"item": item, "out": True})
    assert study.state == "draft"
    study = change_design(study=study, design=bare)
    assert [change.item for change in design_of(study).by_hand] == [item]
    study = change_design(study=study, design=bare.model_copy(update={"seed": 6}))
    with refuses(DesignError, field="by_hand"):
        generate_hits(study=study)
    study = change_by_hand(study=study, change=None, undo_all=True)
    generate_hits(study=study)
    assert fresh(study).state == "generated"


def call(name: str, command: str, **values: Any) -> Call:
    return Call(name, name, command, values)


@pytest.mark.django_db
@pytest.mark.parametrize("door", DOORS)
def test_each_door_does_the_same_and_refuses_a_stale_page(door: str) -> None:
    study, user = generated("pairwise"), User.objects.create_superuser("lead")
    texts: Any = "first=Typed by hand" if door == "command" else {"first": "Typed by hand"}
    seen, unit = state_of_hand_changes(study), judged(study)
    change = call("change-item", "change_item", item=unit.key, texts=texts, seen=seen)
    assert DOORS[door](study, change, user).done
    study = fresh(study)
    first = judged(study).first
    assert first is not None
    assert first.text == "Typed by hand"
    # the second browser still shows the page as it was
    other = judged(study, 2).key
    answer = DOORS[door](
        study, call("change-item", "change_item", item=other, image="scene-1.jpg", seen=seen), user
    )
    assert not answer.done
    assert_names(answer.sentence, "pairwise")
    assert study.units.filter(key=other).exists()
    assert DOORS[door](study, call("take-back-change", "take_back_change"), user).done
    assert judged(fresh(study)).key == unit.key
    event = fresh(study).events.filter(what="design-changed").first()
    assert event is not None
    assert "by_hand" in event.words


@pytest.mark.django_db
def test_the_page_shows_the_hit_its_holders_and_answers(designer: Client) -> None:
    study = make_study("pairwise", controls={"per_hit": 1})
    assignment = hand_in(study, "w-done")
    worker, _ = make_worker(study, "w-holding")
    claim = claim_assignment(study=study, worker=worker)
    assert claim is not None
    assert claim.assignment.hit is not None
    for hit, name in ((assignment.hit, "w-done: "), (claim.assignment.hit, "In progress with 1 w-holding")):
        assert hit is not None
        response = designer.get(f"/admin/judgments/hit/{hit.pk}/change/", follow=True)
        text = words(response)
        assert f"Page of work {hit.position + 1} of {study.hits.count()}" in text
        assert name in text
        assert f'src="/s/{study.slug}/preview/?number={hit.position + 1}"' in response.content.decode()
        assert "check question: reference" in text
        assert (
            "The items of this page can no longer be changed: 2 participants have taken pages of work" in text
        )
        assert "Remove from the page" not in text


@pytest.mark.django_db
def test_a_draft_is_paged_through_and_who_may_not_change_it_sees_no_form(designer: Client) -> None:
    study = study_of("pairwise")
    text = words(designer.get(page(study, "hit") + "?number=2"))
    assert "Page of work 2 of" in text
    assert "Change this item, or write a new one like it" in text
    assert not HIT.objects.exists()
    viewer = User.objects.create_user("viewer", is_staff=True)
    give_role(study=study, user=viewer, role="viewer", by=None)
    stranger = User.objects.create_user("stranger", is_staff=True)
    client = Client()
    client.force_login(viewer)
    assert "Remove from the page" not in words(client.get(page(study, "hit")))
    client.force_login(stranger)
    assert client.get(page(study, "hit")).status_code == 404
