"""Designs used again: copies, presets of this installation, and what differs between two designs."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from rest_framework.serializers import ValidationError

from common.errors import DataConflict, DesignError, WrongState
from judgments.design.editing.form.design_form import DesignForm
from judgments.design.editing.views.reuse import mark_differences
from judgments.design.reading.checking import make_design
from judgments.design.reading.comparing import compare_designs
from judgments.design.reading.presets import PRESETS
from judgments.design.reading.study_files import read_toml, write_toml
from judgments.design.saved_presets import delete_preset, load_saved_presets, rename_preset, store_preset
from judgments.models import SavedPreset, Study, StudyEvent
from judgments.studies import operations
from judgments.studies.designs import design_of
from judgments.studies.studies import change_design, create_study
from tests.judgments.desk import as_posted, do, page, words
from tests.studies import make_dataset, make_study

pytestmark = pytest.mark.django_db
COMPARE = "admin:judgments_study_compare"


def design(**values: Any) -> Any:
    return make_design({"name": "Mine", "dataset": "animals", "protocol": "graded"} | values)


def somebody(name: str, *permissions: str) -> User:
    user = User.objects.create_user(name, is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return User.objects.get(pk=user.pk)


class TestCopies:
    def test_a_copy_has_the_name_and_slug_that_were_asked_for(self, designer: Client) -> None:
        study = make_study()
        designer.post(do(study, "duplicate"), {"name": "Second try", "slug": "second", "page": "reuse"})
        copy = Study.objects.get(slug="second")
        assert (copy.name, copy.state) == ("Second try", "draft")
        assert copy.design | {"name": 0, "slug": 0} == study.design | {"name": 0, "slug": 0}

    def test_without_them_it_takes_the_next_number(self, designer: Client) -> None:
        study = make_study()
        for _ in range(2):
            designer.post(do(study, "duplicate"))
        assert {f"{study.slug}-2", f"{study.slug}-3"} < set(Study.objects.values_list("slug", flat=True))
        assert f'value="{study.slug}-4"' in designer.get(page(study, "reuse")).content.decode()

    @pytest.mark.parametrize(("slug", "said"), [("no spaces", "“Short name” is"), ("taken", "A study")])
    def test_a_refused_slug_is_said_beside_the_form_with_what_was_typed(
        self, designer: Client, slug: str, said: str
    ) -> None:
        study = make_study()
        create_study(design=design(slug="taken"))
        shown = designer.post(
            do(study, "duplicate"), {"name": "Typed", "slug": slug, "page": "reuse"}, follow=True
        )
        assert said in words(shown)
        assert 'value="Typed"' in shown.content.decode()
        assert Study.objects.count() == 2


class TestPresets:
    def test_a_saved_design_is_offered_and_begins_new_studies(self, designer: Client) -> None:
        study = make_study("pairwise", question="Which is *clearer*?")
        designer.post(
            do(study, "save-preset"),
            {"slug": "our-pairs", "title": "Our pairs", "description": "as in spring", "page": "reuse"},
        )
        offered = words(designer.get(reverse("admin:judgments_study_add")))
        assert "Our pairs" in offered
        assert "as in spring" in offered
        shown = designer.get(reverse("admin:judgments_study_add") + "?preset=our-pairs")
        form = shown.context["form"]
        assert form["question"].value() == "Which is *clearer*?"
        designer.post(
            reverse("admin:judgments_study_add") + "?preset=our-pairs",
            as_posted(DesignForm(base=form.base, datasets=["animals"]), name="Again", dataset="animals"),
        )
        again = Study.objects.get(slug="again")
        assert again.design["preset"] == "our-pairs"
        assert again.design["sampling"] == study.design["sampling"]

    def test_study_files_commands_and_the_api_may_name_it(self, designer: Client, tmp_path: Path) -> None:
        make_dataset()
        store_preset(design=design(units_per_hit=33), slug="our-grades", title="Our grades")
        file = tmp_path / "study.toml"
        file.write_text('name = "By file"\ndataset = "animals"\npreset = "our-grades"\n', encoding="utf-8")
        call_command("create_study", str(file), stdout=StringIO())
        body = {"name": "By program", "dataset": "animals", "preset": "our-grades"}
        made = designer.post("/api/studies/", body, content_type="application/json")
        assert made.status_code == 201
        for study in Study.objects.all():
            assert study.design["units_per_hit"] == 33
            assert study.protocol == "graded"

    def test_what_belongs_to_one_study_stays_behind(self) -> None:
        preset = store_preset(
            design=design(
                seed=9,
                access={"join": "code", "code": "open-sesame"},
                crowd={"backend": "mturk", "live": True, "reward_cents": 4},
                panel={"codes": {"completed": "ABC"}},
            ),
            slug="kept",
            title="Kept",
        )
        assert "sesame" not in str(preset.values)
        assert "ABC" not in str(preset.values)
        begun = make_design(
            {"name": "x", "dataset": "d", "preset": "kept"}, saved_presets=load_saved_presets()
        )
        assert (begun.seed, begun.crowd.live, begun.crowd.reward_cents) == (0, False, 4)
        assert begun.access.join == "open"

    def test_names_of_shipped_and_saved_presets_are_taken(self) -> None:
        store_preset(design=design(), slug="mine", title="Mine")
        for slug in ("mine", next(iter(PRESETS))):
            with pytest.raises(DataConflict, match="short"):
                store_preset(design=design(), slug=slug, title="Another")
        for slug in ("", "a b"):
            with pytest.raises(DesignError):
                store_preset(design=design(), slug=slug, title="x")
        for title in (" ", "x" * 201):
            with pytest.raises(ValidationError, match="title"):
                operations.save_preset.read({"slug": "fine", "title": title})
        assert SavedPreset.objects.count() == 1

    def test_studies_outlive_their_preset(self) -> None:
        make_dataset()
        maker = somebody("maker")
        store_preset(design=design(units_per_hit=33), slug="mine", title="Mine", by=maker)
        begun = make_design(
            {"name": "x", "dataset": "animals", "preset": "mine"}, saved_presets=load_saved_presets()
        )
        study = create_study(design=begun)
        delete_preset(slug="mine", by=maker)
        assert read_toml(write_toml(design_of(study))) == begun

    def test_only_its_maker_renames_and_deletes_it(self) -> None:
        maker, other = somebody("maker"), somebody("other", "add_study", "view_study")
        store_preset(design=design(), slug="mine", title="Mine", by=maker)
        with pytest.raises(WrongState, match="only this person"):
            rename_preset(slug="mine", title="Theirs", description="", by=other)
        with pytest.raises(WrongState, match="only this person"):
            delete_preset(slug="mine", by=other)
        assert rename_preset(slug="mine", title="Better", description="", by=maker).title == "Better"

    def test_its_pages_obey_the_same(self, client: Client) -> None:
        maker, other = somebody("maker", "add_study"), somebody("other", "add_study")
        preset = store_preset(design=design(), slug="mine", title="Mine", by=maker)
        change = reverse("admin:judgments_savedpreset_change", args=[preset.pk])
        delete = reverse("admin:judgments_savedpreset_delete", args=[preset.pk])
        lists = reverse("admin:judgments_savedpreset_changelist")
        client.force_login(other)
        assert "Mine" in words(client.get(lists))
        assert client.post(change, {"title": "Theirs"}).status_code == 403
        assert client.post(delete, {"post": "yes"}).status_code == 403
        client.force_login(somebody("stranger"))
        assert [client.get(address).status_code for address in (lists, change, delete)] == [403, 403, 403]
        client.force_login(maker)
        client.post(change, {"title": "Better", "description": "new words"})
        preset.refresh_from_db()
        assert (preset.title, preset.description, preset.slug) == ("Better", "new words", "mine")
        client.post(delete, {"post": "yes"})
        assert not SavedPreset.objects.exists()


class TestDifferences:
    def test_every_key_that_differs_is_named_with_both_values_in_file_order(self) -> None:
        found = compare_designs(
            design(seed=1, controls={"per_hit": 1}),
            design(seed=2, rules=[{"rule": "fast"}], sampling={"pairs": {"MM": 4}}),
        )
        assert [
            (row.key, row.first_value, row.second_value) for rows in found.tables.values() for row in rows
        ] == [
            ("seed", "1", "2"),
            ("rules", "[]", 'rule = "fast"\naction = "flag"'),
            ("sampling.pairs.MM", "", "4"),
            ("controls.per_hit", "1", "0"),
        ]
        assert "-seed = 1" in found.diff_lines
        assert "+seed = 2" in found.diff_lines

    def test_equal_designs_do_not_differ(self) -> None:
        found = compare_designs(design(), design())
        assert (found.difference_count, found.diff_lines) == (0, [])

    def test_a_change_of_a_draft_keeps_what_was_before_and_after(self, designer: Client) -> None:
        study = make_study(opened=False)
        before = dict(study.design)
        form = DesignForm(base=study.design, datasets=["animals"])
        designer.post(page(study, "change"), as_posted(form, seed=12, units_per_hit=6))
        event = StudyEvent.objects.get(what="design-changed")
        assert event.words == "The design was changed: seed, units_per_hit."
        assert event.details["before"] == before
        assert event.details["after"]["seed"] == 12
        shown = words(designer.get(reverse(COMPARE) + f"?this={study.slug}@{event.pk}&that={study.slug}"))
        assert "Seed seed 3 12" in shown
        assert "Earlier designs" in words(designer.get(page(study, "reuse")))

    def test_saving_the_same_again_is_no_change(self) -> None:
        study = make_study(opened=False)
        change_design(study=study, design=design_of(study))
        assert not StudyEvent.objects.filter(what="design-changed").exists()

    def test_a_study_stands_beside_a_preset_without_its_own_names(self, designer: Client) -> None:
        study = make_study(opened=False)
        shown = words(
            designer.get(reverse(COMPARE) + f"?this={study.slug}&that=preset:vedantam-2015-triplet")
        )
        assert "sampling.references 2 48" in shown
        assert "slug" not in shown.split("As study files")[0].split("compared with")[1].split("Sampling")[1]

    @pytest.mark.parametrize(
        ("this", "that", "marked"),
        [
            (
                "Which is better?",
                "Which is best?",
                ("Which is <del>better</del>?", "Which is <ins>best</ins>?"),
            ),
            ("0.7", "0.75", ("<del>0.7</del>", "<ins>0.75</ins>")),
            ("Read it.", "Read it twice.", ("Read it.", "Read it<ins> twice</ins>.")),
            ("", "4", ("", "<ins>4</ins>")),
            (
                "<b>no</b> & <del>",
                "<i>no</i> & <del>",
                (
                    "&lt;<del>b</del>&gt;no&lt;/<del>b</del>&gt; &amp; &lt;del&gt;",
                    "&lt;<ins>i</ins>&gt;no&lt;/<ins>i</ins>&gt; &amp; &lt;del&gt;",
                ),
            ),
        ],
    )
    def test_only_the_words_that_differ_are_marked_and_a_text_is_never_markup(
        self, this: str, that: str, marked: tuple[str, str]
    ) -> None:
        assert mark_differences(this, that) == marked

    def test_the_page_marks_the_word_of_a_text(self, designer: Client) -> None:
        study = make_study(opened=False, question="Which <b> is better?")
        make_study(slug="other", opened=False, question="Which <b> is best?")
        shown = designer.get(reverse(COMPARE) + f"?this={study.slug}&that=other").content.decode()
        assert "Which &lt;b&gt; is <del>better</del>?" in shown
        assert "Which &lt;b&gt; is <ins>best</ins>?" in shown

    @pytest.mark.parametrize(
        "query", ["", "?this=gone&that=gone", "?this={slug}@999&that={slug}", "?this={slug}&that=preset:no"]
    )
    def test_what_is_not_there_is_said(self, designer: Client, query: str) -> None:
        study = make_study(opened=False)
        shown = designer.get(reverse(COMPARE) + query.format(slug=study.slug))
        assert shown.status_code == 404
        assert "There is no" in words(shown) or "has no earlier design" in words(shown)

    def test_a_stranger_is_told_that_the_study_is_not_there(self, client: Client) -> None:
        study = make_study(opened=False)
        address = reverse(COMPARE) + f"?this={study.slug}&that=preset:vedantam-2015-triplet"
        assert client.get(address).status_code == 302
        client.force_login(somebody("stranger"))
        shown = client.get(address)
        assert shown.status_code == 404
        assert study.name not in words(shown)
        assert client.get(page(study, "reuse")).status_code in (403, 404)
        for step in ("duplicate", "save-preset"):
            assert client.post(do(study, step), {"slug": "x", "title": "x"}).status_code in (403, 404)
        assert not SavedPreset.objects.exists()

    def test_the_command_compares_studies_presets_and_files(self, tmp_path: Path) -> None:
        study = make_study(opened=False)
        file = tmp_path / "other.toml"
        file.write_text(write_toml(design_of(study)).replace("seed = 3", "seed = 5"), encoding="utf-8")

        def said(*names: str, **options: Any) -> str:
            out = StringIO()
            call_command("diff_designs", *names, stdout=out, **options)
            return out.getvalue()

        assert said(study.slug, str(file)) == "seed\n  - 3\n  + 5\n"
        assert "\n-seed = 3\n+seed = 5\n" in said(study.slug, str(file), unified=True)
        assert "controls.per_hit\n  - 0\n  + 1" in said("vedantam-2015-triplet", study.slug)
        assert "the same" in said(study.slug, study.slug)
        for wrong in ("gone", str(tmp_path / "gone.toml")):
            with pytest.raises(CommandError):
                said(study.slug, wrong)
