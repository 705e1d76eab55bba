"""A preset cut to what its dataset has: own data never opens in error, and what was cut is said."""

from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from contrib.rehearsals.simulation.crowd import RehearsalCrowd
from contrib.rehearsals.simulation.run import rehearse
from evaluation.results.aggregation import aggregate_study
from evaluation.results.metrics.storage import evaluate_study
from judgments.design.editing.dataset_counts import count_contents
from judgments.design.editing.fitting import fit_to_dataset
from judgments.design.editing.form.values import starting_values
from judgments.design.reading.checking import make_design
from judgments.design.reading.presets import PRESETS
from judgments.design.study_design import PURPOSES
from judgments.models import Caption, Dataset, Item, Job, Study, System
from judgments.studies.generation.hits import generate_hits
from judgments.studies.generation.plans import plan_study
from judgments.studies.studies import create_study
from tests.annotation.sourcing import make_texts
from tests.judgments.desk import do, page, words
from tests.judgments.test_columns_page import job_of
from tests.marks import long_except
from tests.studies import make_dataset, make_study

pytestmark = pytest.mark.django_db
NEW = "admin:judgments_study_add"


def cut(preset: str, dataset: Dataset, maker: int | None = None) -> tuple[dict[str, Any], list[str]]:
    values, said, _ = fit_to_dataset(starting_values(preset=preset), dataset, maker=maker)
    return values, said


@pytest.mark.parametrize("shape", ["two systems", "people alone", "other splits"])
def test_what_a_card_offers_can_be_drawn(designer: Client, shape: str) -> None:
    dataset = make_dataset()
    if shape == "people alone":
        System.objects.filter(dataset=dataset).delete()
    if shape == "other splits":
        Item.objects.filter(dataset=dataset).update(split="spring")
    counts = count_contents(dataset, designer.get("/admin/").wsgi_request.user)
    offered = [name for name in PRESETS if not counts.missing_for(PRESETS[name])]
    for preset in offered:
        values, _ = cut(preset, dataset)
        design = make_design(values | {"name": "Own", "slug": "own"})
        assert plan_study(design, dataset).units, preset
    assert "vedantam-2015-triplet" in offered


def test_pairs_and_references_are_cut_and_the_sentence_says_so() -> None:
    values, said = cut("vedantam-2015-triplet", make_dataset())
    assert values["sampling"]["references"] == "all"
    assert 0 < values["sampling"]["pairs"]["MM"] < 1000
    assert any("Pairs of each kind that the preset asks for: 1,000." in one for one in said)
    assert any("there are fewer references than the preset asks for (48)." in one for one in said)
    assert any("The requirements of the paper" in one for one in said)
    assert values["workers"]["approved_at_least"] == 0


def test_the_form_begins_filled_cut_and_named(designer: Client) -> None:
    make_dataset()
    make_study("triplet", slug="triplets-animals")
    shown = designer.get(reverse(NEW) + "?preset=vedantam-2015-triplet&dataset=animals")
    assert "Changes for your data" in words(shown)
    assert shown.context["form"]["name"].value() == "Triplets, animals (2)"
    design = shown.context["form"].design_to_preview()
    assert plan_study(design, Dataset.objects.get()).units


def test_a_card_says_what_the_dataset_lacks_and_leads_nowhere(designer: Client) -> None:
    make_dataset()
    shown = designer.get(reverse(NEW))
    needs = "Needs pictures with labelled boxes and a caption."
    assert f"{needs} Items in this dataset that meet this requirement: 0 of 12." in words(shown)
    assert "preset=wang-gaizauskas-2015-grounding" not in shown.content.decode()
    assert "preset=vedantam-2015-pairwise&amp;dataset=animals" in shown.content.decode()


def test_an_impossible_design_is_one_message_and_a_button_cuts_it_to_the_data(designer: Client) -> None:
    study = make_study(opened=False, sampling={"pairs": {"MM": 5000}})
    answer = designer.post(do(study, "generate"), {"page": "change"}, follow=True)
    assert words(answer).count("too few MM pairs for the design. Pairs needed: 5000;") == 1
    assert not Job.objects.exists()
    form = designer.get(page(study, "change")).context["form"]
    shown = designer.post(page(study, "change"), form.as_posted() | {"_fit": ""})
    assert int(shown.context["form"]["sampling-pairs-MM"].value()) < 5000
    study.refresh_from_db()
    assert study.design["sampling"]["pairs"] == {"MM": 5000}  # until it is saved


TEXTS = "\n".join(
    f"Sentence {number}.,First {number}.,Second {number}.,Third {number}." for number in range(36)
)
WIDE = f"source,system_a,system_b,system_c\n{TEXTS}\n"
LONG = "source,system,output\n" + "".join(
    f"Sentence {number}.,{system},{system} {number}.\n" for number in range(36) for system in "abc"
)


@pytest.fixture(params=[WIDE, LONG], ids=["a column a system", "a row a text"])
def texts(request: pytest.FixtureRequest, designer: Client, settings: Any, tmp_path: Path) -> Dataset:
    """Source texts without pictures, references and names, as one uploads them."""
    settings.DATA_DIR = tmp_path
    add = reverse("admin:judgments_dataset_add")
    page = designer.post(add, {"files": [SimpleUploadedFile("own.csv", request.param.encode())]})
    assert "source text" in words(page)
    form, (_, _, table) = page.context["form"], page.context["tables"][0]
    sent = {name: form[name].value() for name in form.fields if form[name].value()}
    columns = {f"column-0-{number}": column["chosen"] for number, column in enumerate(table["columns"])}
    job = job_of(designer.post(add, sent | columns | {"upload": page.context["upload"]}))
    assert job.state == Job.State.DONE, job.error
    return Dataset.objects.get()


def test_three_systems_on_own_texts_meet_on_every_text(texts: Dataset) -> None:
    owner = texts.roles.get().user
    values, said = cut("vedantam-2015-pairwise", texts, owner.pk)
    assert values["judged"] in ("translation", "summary")
    assert values["judged"] in values["question"]
    assert any("source texts" in one for one in said)
    study = create_study(design=make_design(values | {"name": "Own", "slug": "own"}), user=owner)
    generate_hits(study=study)
    rows = study.units.values_list("item__text", "pair__first_system__name", "pair__second_system__name")
    assert len({(text, frozenset(systems)) for text, *systems in rows}) == len(rows) == 36 * 3


@pytest.mark.parametrize(
    ("preset", "units"),
    long_except([
        ("our-slider", 108), ("our-best-worst", 36), ("hodosh-2013-relevance", 108), ("freitag-2021-mqm", 108),
        ("kocmi-2024-esa", 108),
    ], ("our-best-worst", 36), ("kocmi-2024-esa", 108)),
)  # fmt: skip
def test_other_protocols_judge_every_text(texts: Dataset, preset: str, units: int) -> None:
    owner = texts.roles.get().user
    values, _ = cut(preset, texts, owner.pk)
    design = make_design(values | {"name": "Own", "slug": "own"})
    assert plan_study(design, texts, maker=owner.pk).units == units


def test_what_needs_pictures_is_not_offered_for_texts(designer: Client, texts: Dataset) -> None:
    response = designer.get(reverse(NEW))
    kinds = {card["preset"].values["protocol"] for card in response.context["published_cards"]}
    assert kinds == {"triplet", "pairwise", "relevance", "graded", "best-worst", "slider", "spans"}
    needs = "Needs references to compare with."
    assert f"{needs} Items in this dataset that meet this requirement: 0 of 36." in words(response)


@pytest.mark.parametrize(
    ("source", "text", "judged"),
    [
        ("The council met on Monday evening.", "Der Rat tagte am Montagabend.", "translation"),
        ("The council met on Monday evening.", "市议会在星期一晚上开会。", "translation"),
        (
            "The council met on Monday. It was late when everybody went home.",
            "The council met on Monday.",
            "summary",
        ),
        ("The council met on Monday evening.", "On Monday evening the council met.", "text"),
        (
            "市议会在星期一晚上开会，讨论了旧铁路桥的修理问题，会议持续了三个小时。",
            "市议会讨论了旧铁路桥。",
            "summary",
        ),
    ],
)
def test_what_is_judged_is_called_what_it_is(source: str, text: str, judged: str) -> None:
    dataset = make_texts(text=source, images=4)
    dataset.captions.filter(role="candidate").update(text=text)
    values, _ = cut("vedantam-2015-pairwise", dataset, None)
    assert values["judged"] == judged
    assert judged in values["question"]


class TestWhatYouWantToKnow:
    @pytest.mark.parametrize("purpose", PURPOSES)
    def test_each_answer_offers_protocols_that_can_be_drawn_and_opened(
        self, designer: Client, purpose: str
    ) -> None:
        dataset = make_dataset()
        shown = designer.get(reverse(NEW), {"dataset": dataset.name})
        (answer,) = (answer for answer in shown.context["aims"] if answer["name"] == purpose)
        assert answer["shown_cards"][0]["preset"].suits[purpose] == 1
        offered = [card for card in answer["shown_cards"] + answer["folded_cards"] if not card["missing"]]
        for card in offered:
            assert (
                f"?preset={card['name']}&amp;dataset={dataset.name}&amp;purpose={purpose}"
                in shown.content.decode()
            )
            values, *_ = fit_to_dataset(
                starting_values(preset=card["name"]) | {"purpose": purpose}, dataset, maker=None
            )
            design = make_design(values | {"name": "Own", "slug": "own"})
            assert plan_study(design, dataset).units, card["name"]
            assert design.judgments_per_unit == PURPOSES[purpose].judgments_per_unit

    def test_systems_meet_systems_and_a_ranking_draws_them_while_people_answer(self) -> None:
        dataset, start = make_dataset(), starting_values(preset="vedantam-2015-pairwise")
        for purpose, pages in (("systems", False), ("ranking", True)):
            values, *_ = fit_to_dataset(start | {"purpose": purpose}, dataset, maker=None)
            assert [kind for kind, count in values["sampling"]["pairs"].items() if count] == ["MM"]
            study = create_study(design=make_design(values | {"name": purpose, "slug": purpose}))
            generate_hits(study=study)
            assert bool(study.design.get("arena", {}).get("pages")) == pages

    def test_a_label_stops_when_no_vote_can_change_it(self) -> None:
        start = starting_values(preset="hodosh-2013-relevance") | {"purpose": "labels"}
        assert fit_to_dataset(start, make_dataset(), maker=None)[0]["stopping"]["rule"] == "settled"

    def test_the_results_begin_with_the_answer(self, designer: Client) -> None:
        study = rehearsed_pairs()
        for purpose, first in (("systems", "Which system wins?"), ("metrics", "Main results")):
            Study.objects.filter(pk=study.pk).update(design=study.design | {"purpose": purpose})
            shown = words(designer.get(page(study, "results")))
            assert min(("Which system wins?", "Main results"), key=shown.index) == first


def rehearsed_pairs() -> Study:
    study = make_study("pairwise", slug="purposes")
    rehearse(study=study, crowd=RehearsalCrowd(workers=6, accuracy=1.0, spammers=0.0, drop_outs=0.0, seed=3))
    aggregate_study(study=study)
    evaluate_study(study=study, metrics=["bleu-1"])
    study.refresh_from_db()
    return study


class TestItemsAndCheckQuestions:
    """Check questions give way before items do, and what would be left out is asked."""

    def small(self, images: int = 12, captions: int = 4) -> Dataset:
        dataset = make_dataset()
        Item.objects.filter(dataset=dataset).update(split="")
        assert dataset.items.count() == images
        Caption.objects.filter(dataset=dataset, role="reference", position__gte=captions).delete()
        return dataset

    def fitted(self, preset: str, dataset: Dataset, purpose: str = "systems", **how: Any) -> Any:
        start = starting_values(preset=preset) | {"purpose": purpose}
        fitted = fit_to_dataset(start, dataset, maker=None, is_unchanged_preset=True, **how)
        design = make_design(fitted.values | {"name": "Own", "slug": "own"})
        return fitted, plan_study(design, dataset), design.controls

    @pytest.mark.parametrize(
        "preset", ["vedantam-2015-pairwise", "hodosh-2013-graded", "hodosh-2013-relevance", "our-slider"]
    )
    def test_no_item_is_left_out_unasked(self, preset: str) -> None:
        dataset = self.small()
        fitted, plan, controls = self.fitted(preset, dataset)
        _, whole, _ = self.fitted(preset, dataset, checks_answer="omit")
        assert plan.units == whole.units
        assert controls.kinds == ("repeated",)
        assert plan.controls
        assert whole.controls == 0
        assert list(fitted.question.choices) == ["reserve", "omit"]

    def test_a_person_may_leave_items_out_for_known_answers(self) -> None:
        dataset = self.small()
        fitted, plan, controls = self.fitted("vedantam-2015-pairwise", dataset, checks_answer="reserve")
        assert (plan.units, controls.kinds) == (10, ("reference",))
        assert (fitted.question.lost_items, fitted.question.judged_items) == (2, 12)
        assert set(fitted.question.choices) == {"repeat", "omit"}

    def test_an_arena_has_no_repeated_items_and_asks_about_all_of_them(self) -> None:
        fitted, plan, controls = self.fitted("vedantam-2015-pairwise", self.small(), "ranking")
        assert (plan.units, controls.per_hit) == (12, 0)
        assert list(fitted.question.choices) == ["reserve"]

    def test_as_many_check_questions_as_there_are_material_for(self) -> None:
        _, plan, controls = self.fitted(
            "hodosh-2013-relevance", self.small(), "labels", checks_answer="reserve"
        )
        assert controls.per_hit == 2  # three were wanted, of the two images set aside
        assert plan.controls

    def test_nothing_is_asked_where_no_item_is_lost(self) -> None:
        fitted, _, controls = self.fitted("vedantam-2015-pairwise", make_dataset())
        assert (fitted.question, controls.kinds) == (None, ("reference",))

    def test_the_page_asks_and_a_link_decides(self, designer: Client) -> None:
        dataset = self.small()
        address = f"{reverse(NEW)}?preset=vedantam-2015-pairwise&dataset={dataset.name}&purpose=systems"
        shown = designer.get(address)
        assert "2 of 12 would not be judged" in words(shown)
        assert "purpose=systems&amp;checks=reserve" in shown.content.decode()
        chosen = designer.get(f"{address}&checks=reserve").context["form"]
        assert chosen["sampling-pairs-MM"].value() == 10
        assert shown.context["form"]["sampling-pairs-MM"].value() == 12
