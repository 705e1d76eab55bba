"""The desk of a design: what is looked at without being saved, and what is wrong said beside its field."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from judgments.design.editing.form.design_form import DesignForm, field_of_key
from judgments.design.editing.form.labels import replace_keys_by_labels
from judgments.design.editing.form.values import starting_values
from judgments.design.reading.checking import make_design, problems_in
from judgments.design.reading.study_files import read_toml
from judgments.design.reading.toml_lines import line_of
from judgments.models import Job, Study
from judgments.studies.studies import create_study
from tests.judgments.desk import ADD, as_posted, do, new_design, page, words
from tests.refusals import assert_names
from tests.studies import make_dataset, make_study

pytestmark = pytest.mark.django_db
NEW = "admin:judgments_study_add"


def looked(client: Client, values: dict[str, Any], address: str = "") -> dict[str, Any]:
    """What the page's script is told about a form."""
    answer = client.post(
        address or reverse(NEW) + ADD, values | {"_look": "1"}, headers={"Accept": "application/json"}
    )
    assert answer.status_code == 200
    seen: dict[str, Any] = answer.json()
    return seen


def wrong(seen: dict[str, Any]) -> dict[str, list[str]]:
    return {one["field"]: one["words"] for one in seen["problems"]}


class TestLook:
    def test_a_look_saves_nothing_and_leads_to_preview_and_numbers(self, designer: Client) -> None:
        make_dataset()
        seen = looked(designer, new_design())
        assert not Study.objects.exists()
        assert seen["problems"] == []
        assert read_toml(seen["toml"]).units_per_hit == 5
        shown = words(designer.get(seen["numbers"]))
        # 6 pairs x 2 references = 12 triplets in HITs of 5; x 3 judgments
        assert "Items 12" in shown
        assert "Judgments 36" in shown
        preview = designer.get(seen["preview"])
        assert "Nothing that you do here is stored" in words(preview)
        assert not Study.objects.exists()

    def test_the_currency_of_the_amounts_follows_the_crowd_and_what_is_typed(self, designer: Client) -> None:
        make_dataset()
        for typed, currency in (
            ({"crowd-currency": "EUR"}, "EUR"),
            ({"crowd-currency": "EUR", "crowd-backend": "mturk"}, "USD"),
            ({"crowd-backend": "external", "panel-preset": "prolific"}, "GBP"),
            ({"crowd-currency": "euro"}, "USD"),
        ):
            assert looked(designer, new_design(**typed))["currency"] == currency

    def test_a_preview_that_cannot_be_drawn_speaks_of_the_design_alone(self, designer: Client) -> None:
        make_dataset()
        seen = looked(designer, new_design(**{"sampling-pairs-HC": 100000}))
        shown = words(designer.get(seen["preview"]))
        assert "There is nothing to preview" in shown
        assert "Mechanical Turk" not in shown

    def test_the_preview_follows_the_form(self, designer: Client) -> None:
        make_dataset()
        first = looked(designer, new_design())
        again = looked(designer, new_design())
        other = looked(designer, new_design(question="Which is *nearer* to A?"))
        assert first["preview"] == again["preview"] != other["preview"]
        assert "Which is <em>nearer</em> to A?" in designer.get(other["preview"]).content.decode()

    def test_only_this_page_may_be_framed_and_only_here(self, designer: Client) -> None:
        make_dataset()
        seen = looked(designer, new_design())
        preview, numbers = designer.get(seen["preview"]), designer.get(seen["numbers"])
        assert "frame-ancestors 'self'" in preview.headers["Content-Security-Policy"]
        assert preview.headers["X-Frame-Options"] == "SAMEORIGIN"
        assert "frame-ancestors 'none'" in numbers.headers["Content-Security-Policy"]
        assert numbers.headers["X-Frame-Options"] == "DENY"

    def test_everything_that_is_wrong_is_said_at_once_each_beside_its_field(self, designer: Client) -> None:
        make_dataset()
        bad = {
            "name": "",
            "controls-threshold": "1.5",
            "controls-per_hit": "9",
            "quiz-preset": "",
            "quiz-questions-0-text": "x",
            "quiz-questions-0-options": "a\nb",
            "quiz-questions-0-answer": "7",
            "workers-countries": "ZZ",
            "slug": "no spaces please",
            "stopping-rule": "margin",
            "stopping-minimum": "90",
        }
        seen = looked(designer, new_design(**bad))
        assert set(wrong(seen)) == {
            "name", "slug", "controls-threshold", "quiz-questions", "workers-countries",
        }  # fmt: skip
        assert_names(wrong(seen)["quiz-questions"][0], "7", "2")
        assert seen["preview"] == seen["numbers"] == ""
        # what contradicts itself is found once every value is one
        seen = looked(
            designer, new_design(**{key: bad[key] for key in ("name", "controls-per_hit", *list(bad)[-2:])})
        )
        assert set(wrong(seen)) == {"name", "controls-per_hit", "stopping-minimum"}

    def test_texts_side_by_side_are_a_tick_that_needs_even_numbers(self, designer: Client) -> None:
        make_dataset()
        address = reverse(NEW) + "?preset=kocmi-2024-esa"
        form = DesignForm(base=starting_values(preset="kocmi-2024-esa"), datasets=["animals"])
        asked = {"name": "ESA", "dataset": "animals", "source-show": False, "units_per_hit": 7}
        odd = as_posted(form, **asked, **{"spans-contrastive": "on"})
        assert set(wrong(looked(designer, odd, address))) == {"units_per_hit", "controls-per_hit"}
        even = odd | {"units_per_hit": 8, "controls-per_hit": 2}
        seen = looked(designer, even, address)
        assert seen["problems"] == []
        assert read_toml(seen["toml"]).spans.contrastive
        assert "Translation A" in words(designer.get(seen["preview"]))
        german = designer.get(f"{address}&dataset=animals", headers={"accept-language": "de"})
        assert "Zwei Texte nebeneinander" in words(german)

    def test_without_a_name_there_are_preview_and_numbers_all_the_same(self, designer: Client) -> None:
        make_dataset()
        seen = looked(designer, new_design(name="", slug=""))
        assert set(wrong(seen)) == {"name"}
        assert "A study without a name" in words(designer.get(seen["preview"]))

    @pytest.mark.parametrize(
        ("changes", "field", "said"),
        [
            ({"sampling-pairs-MM": 5000}, "sampling-pairs-MM", "too few MM pairs for the design. Pairs needed: 5000;"),
            ({"crowd-backend": "mturk", "crowd-reward_cents": "0.10"}, "crowd-budget_cents", "short"),
            ({"crowd-reward_cents": "0.01", "crowd-floor_cents_per_hour": "9"}, "crowd-reward_cents", "the floor"),
            ({"crowd-backend": "external", "workers-approved_at_least": 5}, "workers-approved_at_least", "external"),
            ({"controls-kinds": ["known-good"], "controls-per_hit": 1}, "controls-known", "known"),
        ],
    )  # fmt: skip
    def test_what_the_draw_the_crowd_or_the_money_forbids_is_said_of_its_field(
        self, designer: Client, changes: dict[str, Any], field: str, said: str
    ) -> None:
        make_dataset()
        numbers = designer.get(looked(designer, new_design(**changes))["numbers"])
        notes = {note["field"]: note["words"] for note in numbers.context["notes"]}
        assert said in notes[field]
        # and without scripts on the page itself
        shown = designer.post(reverse(NEW) + ADD, new_design(**changes) | {"_look": ""})
        assert said in str(shown.context["form"].errors[field])
        assert not Study.objects.exists()

    def test_a_look_without_scripts_is_the_whole_page_with_its_numbers(self, designer: Client) -> None:
        make_dataset()
        shown = designer.post(reverse(NEW) + ADD, new_design() | {"_look": ""})
        assert "Items 12" in words(shown)
        assert 'src="/look/' in shown.content.decode()
        assert not Study.objects.exists()

    def test_nobody_else_sees_an_unsaved_design(self, designer: Client) -> None:
        make_dataset()
        seen = looked(designer, new_design())
        stranger = Client()
        for address in (seen["preview"], seen["numbers"]):
            assert stranger.get(address).status_code == 302  # to the door
        stranger.force_login(User.objects.create_user("other", is_staff=True))
        for address in (seen["preview"], seen["numbers"]):
            assert stranger.get(address).status_code == 404
        assert stranger.post(reverse(NEW) + ADD, new_design() | {"_look": ""}).status_code == 403

    def test_a_draft_is_looked_at_without_being_changed(self, designer: Client) -> None:
        study = make_study(opened=False)
        values = as_posted(DesignForm(base=study.design, datasets=["animals"]), seed=44)
        assert read_toml(looked(designer, values, page(study, "change"))["toml"]).seed == 44
        study.refresh_from_db()
        assert study.design["seed"] == 3

    def test_looking_costs_few_queries(
        self, designer: Client, django_assert_max_num_queries: Callable[..., Any]
    ) -> None:
        make_dataset()
        values = new_design()
        looked(designer, values)
        with django_assert_max_num_queries(8):
            seen = looked(designer, values)
        with django_assert_max_num_queries(12):
            designer.get(seen["numbers"])
        with django_assert_max_num_queries(12):
            designer.get(seen["preview"])


class TestStudyFile:
    def applied(self, client: Client, text: str, **changes: Any) -> Any:
        return client.post(reverse(NEW) + ADD, new_design(**changes) | {"toml": text, "_apply": ""})

    def test_applied_it_fills_the_form_with_another_protocol_too(self, designer: Client) -> None:
        make_dataset()
        text = 'name = "By file"\ndataset = "animals"\nprotocol = "graded"\nseed = 5\nunits_per_hit = 7\n'
        shown = self.applied(designer, text)
        form = shown.context["form"]
        assert (form["name"].value(), form["units_per_hit"].value(), form.kind.name) == (
            "By file",
            7,
            "graded",
        )
        assert not Study.objects.exists()
        # what the form now holds is saved as it is, though the address still names the triplets' preset
        sent = as_posted(DesignForm(base=form.base, datasets=["animals"])) | {"_base": json.dumps(form.base)}
        designer.post(reverse(NEW) + ADD, sent)
        assert Study.objects.get().design == read_toml(text).model_dump(mode="json")

    def test_what_a_form_says_comes_back_from_its_study_file(self, designer: Client) -> None:
        make_dataset()
        values = new_design(**{"crowd-reward_cents": "0.12", "access-join": "invited"})
        text = looked(designer, values)["toml"]
        shown = self.applied(designer, text, name="Something else")
        assert (
            looked(designer, as_posted(DesignForm(base=shown.context["form"].base, datasets=["animals"])))[
                "toml"
            ]
            == text
        )

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ('name = "x"\nseed = \n', "line 2"),
            ('name = "x"\nprotocol = "triplet"\n\n[controls]\nper_hti = 1\n', "Line 5: controls.per_hti is not a key"),
            ('protocol = "triplet"\n[sampling.pairs]\nHC = "many"\n', "Line 3: sampling.pairs.HC is 'many'"),
            ('protocol = "sonnet"\n', "Line 1: protocol is 'sonnet'"),
            ('protocol = "triplet"\nunits_per_hit = 3\n[controls]\nper_hit = 3\n', "Line 4: controls.per_hit is 3"),
            ('protocol = "triplet"\n[[rules]]\nrule = "fast"\naction = "shout"\n', "Line 4: rules.0.action"),
        ],
    )  # fmt: skip
    def test_refused_it_says_line_and_reason_and_the_form_stays(
        self, designer: Client, text: str, said: str
    ) -> None:
        make_dataset()
        shown = self.applied(designer, text, name="Kept")
        assert said in words(shown)
        assert shown.context["form"]["name"].value() == "Kept"
        assert text.strip() in shown.context["editor"].toml

    def test_a_file_without_name_and_dataset_leaves_them_to_the_form(self, designer: Client) -> None:
        make_dataset()
        shown = self.applied(designer, 'preset = "hodosh-2013-graded"\n')
        assert shown.context["form"].kind.name == "graded"
        assert set(shown.context["form"].errors) == {"name", "dataset"}

    @pytest.mark.parametrize(
        "base", ["{", "[]", '{"protocol": "sonnet"}', "[" * 100_000, '{"protocol": 3}', "null"]
    )
    def test_a_damaged_form_falls_back_to_what_its_address_says(self, designer: Client, base: str) -> None:
        make_dataset()
        designer.post(reverse(NEW) + ADD, new_design() | {"_base": base})
        assert Study.objects.get().protocol == "triplet"


# what the dataset ``animals`` cannot give, or no data can: a preset, what is typed, and the field that says so
SMALL = {
    "sampling-pairs-HC": "2", "sampling-pairs-HI": "", "sampling-pairs-HM": "", "sampling-pairs-MM": "",
    "sampling-references": "2", "units_per_hit": "5",
}  # fmt: skip
TRIPLETS, RELEVANCE = "vedantam-2015-triplet", "hodosh-2013-relevance"
IMPOSSIBLE: list[tuple[str, dict[str, Any], str]] = [
    (TRIPLETS, {}, "sampling-pairs-HC"),
    (TRIPLETS, SMALL | {"sampling-pairs-MM": "500"}, "sampling-pairs-MM"),
    (TRIPLETS, SMALL | {"sampling-references": "50"}, "sampling-references"),
    (TRIPLETS, SMALL | {"sampling-split": "elsewhere"}, "sampling-split"),
    (TRIPLETS, SMALL | {"sampling-source": "published"}, "sampling-source"),
    (TRIPLETS, SMALL | {"controls-per_hit": "5"}, "controls-per_hit"),
    (TRIPLETS, SMALL | {"controls-per_hit": "50", "units_per_hit": "100"}, "controls-per_hit"),
    (TRIPLETS, SMALL | {"controls-per_hit": "2", "controls-split": "elsewhere"}, "controls-split"),
    (TRIPLETS, SMALL | {"quiz-items": "90"}, "quiz-items"),
    (TRIPLETS, SMALL | {"stopping-rule": "margin", "stopping-minimum": "90"}, "stopping-minimum"),
    (TRIPLETS, SMALL | {"source-show": "on"}, "source-show"),
    (RELEVANCE, {"sampling-split": "elsewhere"}, "sampling-split"),
    (RELEVANCE, {"controls-per_hit": "60"}, "controls-per_hit"),
    (RELEVANCE, {"captions_per_image": "50"}, "filter-fill_to"),
    (RELEVANCE, {"sampling-pairs_from": "list", "sampling-listed": "x.jpg\tnothing"}, "sampling-listed"),
    ("our-best-worst", {}, "sampling-options"),
    ("our-slider", {"controls-split": "elsewhere", "controls-per_hit": "2"}, "controls-split"),
    ("mason-charniak-2012-keywords", {}, "sampling-split"),
    ("wang-gaizauskas-2015-grounding", {}, "sampling-split"),
    ("kocmi-2024-esa", {}, "source-show"),
]


class TestImpossible:
    @pytest.mark.parametrize(("preset", "typed", "field"), IMPOSSIBLE)
    def test_it_is_one_message_at_the_field(
        self, designer: Client, preset: str, typed: dict[str, Any], field: str
    ) -> None:
        make_dataset()
        form = DesignForm(base=starting_values(preset=preset), datasets=["animals"])
        assert {field, *typed} <= set(form.fields)
        sent = as_posted(form, name="Mine", dataset="animals", **typed)
        seen = looked(designer, sent, f"{reverse(NEW)}?preset={preset}")
        told = wrong(seen)
        if seen["numbers"]:
            shown = designer.get(seen["numbers"]).content.decode()
            notes = re.findall(r'data-note-for="([^"]*)" data-words="([^"]*)"', shown)
            told |= {name: [said] for name, said in notes}
            assert shown.count(notes[0][1]) == 1
        assert {name: len(said) for name, said in told.items()} == {field: 1}

    def test_what_a_kind_has_no_field_for_is_said_beside_the_numbers(self) -> None:
        design = make_design({"name": "R", "dataset": "animals", "protocol": "relevance"})
        assert field_of_key("sampling.pairs.HC", design) == ""
        assert field_of_key("sampling.split", design) == "sampling-split"
        pairs = {"name": "T", "dataset": "animals", "protocol": "triplet", "sampling": {"pairs": {"MM": 2}}}
        assert field_of_key("sampling.pairs", make_design(pairs)) == "sampling-pairs-MM"

    def test_generate_waits_and_leads_to_the_field(self, designer: Client) -> None:
        study = make_study(opened=False, sampling={"pairs": {"HC": 1000}})
        said = "too few HC pairs for the design. Pairs needed: 1000;"
        button = re.compile(r"<button[^>]*>Generate pages of work</button>")

        def shown(address: str) -> str:
            # a note in an attribute is for the script, which writes it at the field
            return re.sub(r'data-words="[^"]*"', "", designer.get(address).content.decode())

        launch = shown(page(study, "launch"))
        assert launch.count(said) == 1  # in the checklist, which leads to the field
        place = f"{page(study, 'change')}?look#id_sampling-pairs-HC"
        assert f'href="{place}"' in launch
        assert " disabled" in button.findall(launch)[0]
        desk = shown(place)
        assert desk.count(said) == 1
        assert re.search(rf'id="id_sampling-pairs-HC_error">[^<]*{said}', desk) is not None
        assert " disabled" in button.findall(desk)[0]
        title = (
            "The design can be saved, but pages of work cannot be generated until these points are changed"
        )
        assert re.search(rf"<h3 data-problems-title>{title}</h3>", desk) is not None
        refused = designer.post(do(study, "generate"), {"page": "people"})  # where no plan is counted
        assert refused.headers["Location"] == place
        assert said not in shown(page(study, "people"))
        assert not Job.objects.exists()
        possible = make_study(opened=False, slug="possible")
        for name in ("launch", "change"):
            assert " disabled" not in button.findall(shown(page(possible, name)))[0]


def test_lines_of_keys_are_found_in_tables_rows_and_around_long_texts() -> None:
    text = 'name = "x"\ninstructions = """\nseed = 3\n[crowd]\n"""\nseed = 4\n'
    text += '[crowd]\nlive = true\n[[rules]]\nrule = "x"\n'
    assert [line_of(text, key) for key in ("name", "seed", "crowd.live", "rules.0.rule", "crowd.backend", "panel")] == [
        1, 6, 8, 10, 7, 0,
    ]  # fmt: skip


def test_all_problems_are_those_that_a_design_is_refused_for() -> None:
    good = {"name": "x", "dataset": "d", "protocol": "triplet"}
    assert problems_in(good) == []
    found = problems_in(good | {"seed": -1, "controls": {"per_hit": "two", "treshold": 1}})
    assert [one.field for one in found] == ["seed", "controls.per_hit", "controls.treshold"]


def test_a_design_from_a_preset_that_is_gone_can_still_be_changed(designer: Client) -> None:
    make_dataset()
    complete = make_design({"name": "x", "dataset": "animals", "protocol": "graded"}).model_dump(mode="json")
    study = create_study(design=make_design(complete | {"preset": "gone-long-ago"}))
    form = DesignForm(base=study.design, datasets=["animals"])
    designer.post(page(study, "change"), as_posted(form, seed=8))
    study.refresh_from_db()
    assert (study.design["seed"], study.design["preset"]) == (8, "gone-long-ago")


def test_titles_for_source_texts_are_those_of_their_designs_alone() -> None:
    sentence = "images_per_hit: there are too few"
    of_texts = {"protocol": "relevance", "source": {"show": True}}
    assert "Source texts on a page of work" in replace_keys_by_labels(sentence, of_texts)
    for protocol in ("relevance", "graded"):
        assert "Source texts" not in replace_keys_by_labels(sentence, {"protocol": protocol})
