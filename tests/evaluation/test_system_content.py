"""Boxes and keywords that systems name: from a file to a table by two commands, against figures computed by hand."""

import json
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from common.amounts import as_json
from evaluation.data.integrity import check_integrity
from evaluation.data.releases.terms import ReleaseTerms
from evaluation.presentation.content import Estimate
from evaluation.reports.releases.making import release_study
from evaluation.reports.releases.verification import verify_bundle, verify_study
from evaluation.reports.storage import build_report
from judgments.datasets.importing.candidates import import_candidates
from judgments.design.reading.checking import make_design
from judgments.jobs.claims import run_job
from judgments.models import Item, Job, System, SystemContent, Unit
from judgments.studies.studies import create_study
from tests.evaluation.reporting import rewrite
from tests.evaluation.studies import StudyOf, make_dataset
from tests.judgments.desk import page
from tests.judgments.test_admin_uploads import upload
from tests.judgments.test_dataset_access import researcher
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

# The example of docs/content-and-keywords.md, which is that of WG15: what each description of an image names.
LABELS = ("dress", "tree", "woman", "car", "road", "boot")
DESCRIPTIONS: dict[str, list[list[int]]] = {
    "a.jpg": [[2, 0, 5, 3], [2, 3], [2, 5, 3]],
    "b.jpg": [[0], [0, 1]],
    "c.jpg": [[], []],
}
TEXTS = {
    "a.jpg": "A tank of the army stood near the river. The tank was old.",
    "b.jpg": "The river rose. Rain fell on the river. A flood came.",
}


def boxes(count: int = 6) -> list[dict[str, Any]]:
    return [
        {"id": str(number), "label": label, "x": number / 10, "y": 0.1, "width": 0.1, "height": 0.1 + number / 20}
        for number, label in enumerate(LABELS[:count])
    ]  # fmt: skip


def study_of_boxes(*raters: str, images: Sequence[str] = tuple(DESCRIPTIONS)) -> StudyOf:
    made = StudyOf(make_dataset("street", dict.fromkeys(images, ())), "grounding", controls={"per_hit": 0})
    made.dataset.items.update(boxes=boxes())
    for image in images:
        descriptions = DESCRIPTIONS[image]
        units = [
            made.unit(
                f"{image}-{number}", image, first=f"{' '.join(LABELS)} {number}", content={"boxes": boxes()}
            )
            for number in range(len(descriptions))
        ]
        hit = made.hit(image, units)
        links = [[{"word": box, "box": str(box)} for box in named] for named in descriptions]
        for rater in raters:
            made.answer(hit, rater, links)
    return made


def study_of_keywords(answers: dict[str, Sequence[Sequence[str]]]) -> StudyOf:
    made = StudyOf(make_dataset("news", dict.fromkeys(TEXTS, ())), "keywords", controls={"per_hit": 0})
    hit = made.hit(
        "h",
        [
            made.unit(image, image, content={"text": text, "collocations": []})
            for image, text in TEXTS.items()
        ],
    )
    for rater, said in answers.items():
        made.answer(hit, rater, said)
    return made


@pytest.fixture
def street() -> StudyOf:
    return study_of_boxes("ada")


@pytest.fixture
def news() -> StudyOf:
    return study_of_keywords({"ada": [["tank", "army"], ["river", "rain"]], "ben": [["tank"], ["flood"]]})


def imported(made: StudyOf, folder: Path, system: str, text: str, name: str = "c.csv", **options: Any) -> str:
    path, said = folder / name, StringIO()
    path.write_text(text, encoding="utf-8")
    call_command(
        "import_candidates", name.rpartition(".")[2], str(path),
        dataset=made.dataset.name, system=system, stdout=said, **options,
    )  # fmt: skip
    return said.getvalue()


def aggregated(made: StudyOf, folder: Path) -> tuple[dict[str, Any], str]:
    said = StringIO()
    call_command("aggregate", made.study.slug, output=folder / "a.json", stdout=said)
    return json.loads((folder / "a.json").read_text()), said.getvalue()


def means(result: dict[str, Any], name: str) -> dict[str, float]:
    rows = {row["name"]: row["figures"] for row in result["figures"]["system_content"]["rows"]}
    return {measure: figure["value"] for measure, figure in rows[name].items()}


def test_a_file_of_boxes_becomes_a_table_by_two_commands(street: StudyOf, tmp_path: Path) -> None:
    said = imported(street, tmp_path, "alpha", "image,boxes\na.jpg,2 3\n")
    assert "System alpha: imported." in said
    assert "1 images with boxes" in said
    imported(
        street,
        tmp_path,
        "beta",
        '{"image": "a.jpg", "boxes": ["2", 0]}\n{"image": "b.jpg", "boxes": [0]}\n',
        "c.jsonl",
    )
    result, said = aggregated(street, tmp_path)
    content = result["figures"]["system_content"]
    assert (content["images"], content["left_out"], content["scope"]) == (2, 1, "these people")
    # alpha names nothing of b.jpg, which counts 0; of a.jpg R is the mean of 2/4, 2/2 and 2/3.
    recall = (2 / 4 + 1 + 2 / 3) / 3
    assert means(result, "alpha") == {
        "precision": 1 / 2,
        "recall": pytest.approx(recall / 2),
        "f1": pytest.approx(2 * recall / (1 + recall) / 2),
    }
    # beta: P = (2 + 1 + 1) / 6 and R = (2/4 + 1/2 + 1/3) / 3 of a.jpg; 1 and (1 + 1/2) / 2 of b.jpg.
    first, second = (4 / 6, 4 / 9), (1, 3 / 4)
    assert means(result, "beta") == {
        "precision": pytest.approx((first[0] + second[0]) / 2),
        "recall": pytest.approx((first[1] + second[1]) / 2),
        "f1": pytest.approx(sum(2 * p * r / (p + r) for p, r in (first, second)) / 2),
    }
    # Each description against the others: (.625, 1), (1, .58333) and (.83333, .875) of a.jpg; F 2/3 of b.jpg.
    of_a = sum(2 * p * r / (p + r) for p, r in ((5 / 8, 1), (1, 7 / 12), (5 / 6, 7 / 8))) / 3
    assert means(result, "one person against the others")["f1"] == pytest.approx((of_a + 2 / 3) / 2)
    # The boxes are the larger the higher their number: 5 and 4.
    assert means(result, "larger boxes")["recall"] == pytest.approx((1 / 4 + 0 + 1 / 3) / 3 / 2)
    # What people name of b.jpg alone is 0 and 1; of a.jpg 2 and 3, which b.jpg has too.
    assert means(result, "labels that people name often")["precision"] == pytest.approx((1 / 3 / 2 + 0) / 2)
    # People name 2 boxes. After dress and tree, the four boxes that follow neither share rank 4.5 of a.jpg; the centre
    # is nearer the higher the number, so that the means are 3.5, 3.5, 4.25, 3.75, 3.25 and 2.75. Of b.jpg 5 and 2 come
    # first, which nobody names.
    assert means(result, "labels in people's order, near the centre") == {
        "precision": pytest.approx((1 / 2 + 0 + 1 / 2) / 3 / 2),
        "recall": pytest.approx((1 / 4 + 0 + 1 / 3) / 3 / 2),
        "f1": pytest.approx(2 * (1 / 3 * 7 / 36) / (1 / 3 + 7 / 36) / 2),
    }
    # Of a.jpg all mean ranks are 3.5, of b.jpg 2 and 5 come first again.
    assert (
        means(result, "labels that people name often, near the centre")["precision"]
        == means(result, "labels that people name often")["precision"]
    )
    assert 0 < means(result, "random boxes")["f1"] < 1
    assert [row["name"] for row in content["rows"][:3]] == ["beta", "alpha", "one person against the others"]
    assert result["systems_verdict"]["measure"] == "f1"
    assert set(result["systems_verdict"]["compared"]) == {"alpha"}
    assert "No winner yet. There is no significant difference between beta and alpha" in said
    assert "Boxes that systems name, against people" in said
    assert "content-selection|empty:zero|v:1.0" in content["signatures"]


def test_a_mode_named_for_all_of_few_images_is_not_certain_of_others(tmp_path: Path) -> None:
    alike = study_of_keywords({rater: [["tank"], ["river"]] for rater in ("ada", "ben")})
    imported(alike, tmp_path, "gamma", "image,keywords\na.jpg,tank\nb.jpg,river\n")
    rows = aggregated(alike, tmp_path)[0]["figures"]["system_content"]["rows"]
    for measure in ("best-mode", "oot-mode"):
        figure = rows[0]["figures"][measure]
        # Clopper's and Pearson's lower end of two images.
        assert [figure["value"], figure["low"], figure["high"]] == pytest.approx([1, 0.025**0.5, 1])


def test_a_file_of_keywords_becomes_a_table_by_two_commands(news: StudyOf, tmp_path: Path) -> None:
    imported(news, tmp_path, "gamma", "image,keywords\na.jpg,Tanks;war\nb.jpg,\n")
    result, said = aggregated(news, tmp_path)
    # R_1 = {tank: 2, armi: 1}, R_2 = {river, rain, flood}, which has no single most frequent tag.
    assert means(result, "gamma") == {
        "best": pytest.approx(2 / 3 / 2),
        "oot": pytest.approx(2 / 3 / 2),
        "best-mode": 1,
        "oot-mode": 1,
        "precision": 1 / 4,
        "recall": 1 / 4,
        "f1": 1 / 4,
    }
    # ada's list against ben's: 1, and ben's against hers: 1/2; of b.jpg nobody names what the other does.
    people = means(result, "one person against the others")
    assert people["oot"] == pytest.approx((1 + 1 / 2) / 2 / 2)
    assert people["best"] == people["oot"]
    # "tank" is twice in the text of a.jpg, "river" in that of b.jpg; ten words hold all that people gave.
    frequent = means(result, "frequent words of the text")
    assert frequent["best"] == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert frequent["oot"] == 1
    assert means(result, "frequent keywords of other items")["oot"] == 0
    # So few words are in the texts that ten of their topics hold those of the text.
    topics = means(result, "words of the text’s topics, LDA")
    assert (topics["oot"], topics["recall"]) == (frequent["oot"], frequent["recall"])
    assert result["figures"]["system_content"]["scope"] == "items and people"
    assert "systems_verdict" not in result  # there is one system
    assert "tf-idf" in said


def test_people_are_a_part_of_the_interval(news: StudyOf, tmp_path: Path) -> None:
    imported(news, tmp_path, "gamma", "image,keywords\na.jpg,tank;army\nb.jpg,river\n")
    figure = aggregated(news, tmp_path)[0]["figures"]["system_content"]["rows"][0]["figures"]["oot"]
    assert figure["value"] == pytest.approx((1 + 1 / 3) / 2)
    assert figure["low"] < figure["value"] < figure["high"] <= 1


def test_the_results_page_and_the_report_hold_the_table(
    street: StudyOf, tmp_path: Path, designer: Client
) -> None:
    def results() -> str:
        return designer.get(page(street.study, "results")).content.decode()

    aggregated(street, tmp_path)
    assert "Do systems name the same things as people?" not in results()
    imported(street, tmp_path, "alpha", "image,boxes\na.jpg,2 3\nb.jpg,0\n")
    assert "These results are out of date" in results()
    imported(street, tmp_path, "beta", "image,boxes\na.jpg,2\n")
    aggregated(street, tmp_path)
    shown = results()
    assert "Do systems name the same things as people?" in shown
    assert "older than the data" not in shown
    assert "boxes near the centre" in shown
    assert "No winner yet. There is no significant difference between alpha and beta" in shown
    sections = {section.name: section for section in build_report(street.study).sections}
    section = sections["system-content"]
    assert section.sentences[0].startswith(
        "What 2 systems name of 2 items, held against what people name. The first, alpha, has F .85; one person "
        "against the others has .73; the best baseline, "
    )
    table, compared = section.tables
    assert (compared.name, compared.rows[1][0], compared.rows[0][-1]) == ("compared", "beta", None)
    first = table.rows[0][2]
    assert isinstance(first, Estimate)
    assert (table.rows[0][0], first.value) == ("alpha", 1.0)
    assert "1 item of which people name nothing is left out." in table.note
    assert section.plots[0].data is table


def test_titles_of_a_file_are_a_baseline(news: StudyOf, tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text(
        "image,text,text_title,document\n"
        f"a.jpg,{TEXTS['a.jpg']},The army’s tanks and tanks,1\nb.jpg,{TEXTS['b.jpg']},,2\n"
    )
    call_command("import_dataset", "csv", str(path), name="titled", stdout=StringIO())
    assert [item.document for item in Item.objects.filter(dataset__name="titled")] == ["1", "2"]
    design = make_design({"name": "Titled", "slug": "titled", "dataset": "titled", "protocol": "keywords"})
    create_study(design=design)
    call_command("generate_hits", "titled", stdout=StringIO())
    contents = {unit.item.name: unit.content for unit in Unit.objects.filter(study__slug="titled")}
    assert contents["a.jpg"]["title"] == "The army’s tanks and tanks"
    assert "title" not in contents["b.jpg"]

    for unit in Unit.objects.filter(study=news.study):
        unit.content |= {"title": contents[unit.item.name].get("title", "")}
        unit.save()
    imported(news, tmp_path, "gamma", "image,keywords\na.jpg,tank\nb.jpg,\n")
    title = means(aggregated(news, tmp_path)[0], "words of the title")
    # People say tank twice and army once of a.jpg; army is the title's first word, and b.jpg has no title.
    assert (title["best"], title["oot"]) == (pytest.approx(1 / 3 / 2), 1 / 2)


@pytest.mark.usefixtures("undrawn")
def test_a_system_that_names_nothing_of_what_people_judged_is_nowhere(
    street: StudyOf, tmp_path: Path
) -> None:
    unseen = Item.objects.get(dataset=street.dataset, name="a.jpg")
    unseen.pk, unseen.name, unseen.position = None, "unseen.jpg", 99
    unseen.save()
    imported(street, tmp_path, "alpha", "image,boxes\na.jpg,2 3\n")
    imported(street, tmp_path, "beta", "image,boxes\na.jpg,2\n")
    imported(street, tmp_path, "elsewhere", "image,boxes\nunseen.jpg,2\n")
    result, _said = aggregated(street, tmp_path)
    names = {row["name"] for row in result["figures"]["system_content"]["rows"] if row["who"] == "system"}
    assert names == {"alpha", "beta"}
    assert {row["system"] for row in result["systems_verdict"]["systems"]} == {"alpha", "beta"}
    path = tmp_path / "release.zip"
    release_study(study=street.study, terms=ReleaseTerms("1.0", "CC0-1.0"), output=path)
    assert verify_bundle(path).differences == ()
    assert section_of(path) == live_section(street)


@pytest.mark.usefixtures("undrawn")
def test_the_stored_figures_and_a_release_verify(street: StudyOf, tmp_path: Path) -> None:
    imported(street, tmp_path, "alpha", "image,boxes\na.jpg,2 3\nb.jpg,0\nc.jpg,1\n")
    imported(street, tmp_path, "beta", "image,boxes\na.jpg,2\n")
    aggregated(street, tmp_path)
    assert verify_study(study=street.study).differences == ()
    path = tmp_path / "release.zip"
    release_study(study=street.study, terms=ReleaseTerms("1.0", "CC0-1.0"), output=path)
    assert verify_bundle(path).differences == ()
    assert section_of(path) == live_section(street)
    rewrite(path, change_names, hashed=True)
    assert any("system-content" in line for line in verify_bundle(path).differences)


def change_names(files: dict[str, bytes]) -> None:
    files["contents.jsonl"] = files["contents.jsonl"].replace(b'["2", "3"]', b'["2", "4"]')


@pytest.mark.usefixtures("undrawn")
def test_a_release_holds_the_keywords_of_a_system(news: StudyOf, tmp_path: Path) -> None:
    Item.objects.update(fields=[["document", "one"]])
    Item.objects.filter(name="b.jpg").update(fields=[["document", "two"]])
    imported(news, tmp_path, "gamma", "image,keywords\na.jpg,Tanks;war\n")
    path = tmp_path / "release.zip"
    release_study(study=news.study, terms=ReleaseTerms("1.0", "CC0-1.0"), output=path)
    assert verify_bundle(path).differences == ()
    assert section_of(path) == live_section(news)


def live_section(made: StudyOf) -> Any:
    sections = {section.name: section for section in build_report(made.study).sections}
    return json.loads(json.dumps(as_json(sections["system-content"])))


def section_of(release: Path) -> Any:
    with ZipFile(release) as bundle:
        sections = json.loads(bundle.read("report/report.json"))["sections"]
    return next(section for section in sections if section["name"] == "system-content")


def test_the_report_of_keywords_names_its_measures(news: StudyOf, tmp_path: Path) -> None:
    imported(news, tmp_path, "gamma", "image,keywords\na.jpg,tank\n")
    sections = {section.name: section for section in build_report(news.study).sections}
    assert "has oot .33" in sections["system-content"].sentences[0]
    assert "MC12 §6.2" in sections["system-content"].tables[0].note


def test_one_image_has_no_interval_and_no_half_to_learn_from(tmp_path: Path) -> None:
    made = study_of_boxes("ada", images=("a.jpg",))
    imported(made, tmp_path, "alpha", "image,boxes\na.jpg,2 3\n")
    rows = aggregated(made, tmp_path)[0]["figures"]["system_content"]["rows"]
    assert rows[0]["figures"]["precision"] == {"value": 1.0, "low": None, "high": None, "n": 1}
    assert "labels that people name often" not in [row["name"] for row in rows]


def test_where_people_name_nothing_there_is_no_table(tmp_path: Path) -> None:
    made = study_of_boxes("ada", images=("c.jpg",))
    imported(made, tmp_path, "alpha", "image,boxes\nc.jpg,2 3\n")
    assert "system_content" not in aggregated(made, tmp_path)[0]["figures"]


def test_one_persons_keywords_have_nobody_to_be_held_against(tmp_path: Path) -> None:
    made = study_of_keywords({"ada": [["tank"], []]})
    imported(made, tmp_path, "gamma", "image,keywords\na.jpg,tank\n")
    result = aggregated(made, tmp_path)[0]
    assert means(result, "gamma")["oot"] == 1
    assert means(result, "one person against the others")["oot"] is None
    sections = {section.name: section for section in build_report(made.study).sections}
    assert "one person" not in sections["system-content"].sentences[0]


def test_the_same_file_changes_nothing_and_other_boxes_are_refused(street: StudyOf, tmp_path: Path) -> None:
    rows = "image,boxes\na.jpg,2 3\nb.jpg,\n"
    imported(street, tmp_path, "alpha", rows)
    assert "was there already with the same rows; nothing changed" in imported(
        street, tmp_path, "alpha", rows
    )
    with refuses(CommandError, "alpha", "boxes"):
        imported(street, tmp_path, "alpha", "image,boxes\na.jpg,2\nb.jpg,\n")
    # Keywords are another thing that it names, and captions a third.
    assert "2 images with keywords" in imported(
        street, tmp_path, "alpha", "image,caption,keywords\na.jpg,A woman,woman\nb.jpg,A dress,\n"
    )
    assert "nothing changed" in imported(
        street, tmp_path, "alpha", "image,caption\na.jpg,A woman\nb.jpg,A dress\n"
    )
    assert SystemContent.objects.count() == 4
    assert check_integrity().problems == []


def test_captions_have_the_fingerprint_that_they_have_alone(street: StudyOf, tmp_path: Path) -> None:
    imported(street, tmp_path, "alone", "image,caption,rank\na.jpg,A woman,1\na.jpg,A dog,2\n")
    imported(street, tmp_path, "both", "image,caption,rank,boxes\na.jpg,A woman,1,2;3\na.jpg,A dog,2,\n")
    assert len(set(System.objects.values_list("fingerprint", flat=True))) == 1
    assert SystemContent.objects.get().names == ["2", "3"]
    assert System.objects.captioners().count() == 2


@pytest.mark.parametrize(
    ("rows", "name", "values"),
    [
        ("image,boxes\na.jpg,2 9\n", "c.csv", ["line 2, boxes", '"9"', '"a.jpg"', "0, 1, 2, 3, 4, 5"]),
        ("image,boxes\nd.jpg,2\n", "c.csv", ["line 2, image", '"d.jpg"']),
        (
            "image,boxes\na.jpg,2\na.jpg,3\n",
            "c.csv",
            ["line 3, boxes", '"a.jpg"', "one list an image"],
        ),
        ('{"image": "a.jpg", "boxes": "2 3"}\n', "c.jsonl", ["line 1, boxes", '"2 3"', "1,000 boxes"]),
        (
            '{"image": "a.jpg", "boxes": [{"id": 2}]}\n',
            "c.jsonl",
            ["line 1, boxes", '{"id": 2}', "a box's id"],
        ),
        ('{"image": "a.jpg", "keywords": [" "]}\n', "c.jsonl", ["line 1, keywords", "empty", "a keyword"]),
        (
            f"image,keywords\na.jpg,{'x' * 201}\n",
            "c.csv",
            ["line 2, keywords", "201 characters", "200 characters"],
        ),
        (
            f"image,keywords\na.jpg,{';'.join(map(str, range(1001)))}\n",
            "c.csv",
            ["line 2, keywords", "1,001", "1,000 keywords"],
        ),
        ("image,score\na.jpg,1\n", "c.csv", ["line 1, caption", "no such field"]),
    ],
)
def test_a_wrong_file_is_refused_at_its_place(
    street: StudyOf, tmp_path: Path, rows: str, name: str, values: list[str]
) -> None:
    with refuses(CommandError, name, *values):
        imported(street, tmp_path, "alpha", rows, name)
    assert not System.objects.exists()


def test_boxes_without_boxes_in_the_dataset_are_refused(news: StudyOf, tmp_path: Path) -> None:
    with refuses(CommandError, "news"):
        imported(news, tmp_path, "alpha", "image,boxes\na.jpg,2\nb.jpg,3\n")
    assert not System.objects.exists()


def test_a_dataset_with_boxes_and_captions_of_systems_keeps_its_boxes(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    rows = [
        {"image": "a.jpg", "caption": "A woman", "boxes": boxes(3)},
        {"image": "a.jpg", "caption": "A dog", "system": "alpha", "boxes": boxes(3)},
        {"image": "a.jpg", "caption": "A tree", "system": "beta", "boxes": ["1"]},
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    call_command("import_dataset", "jsonl", str(path), name="both", stdout=StringIO())
    assert [box["id"] for box in Item.objects.get().boxes] == ["0", "1", "2"]
    assert [(row.system.name, row.names) for row in SystemContent.objects.all()] == [("beta", ["1"])]


def test_columns_of_other_names_and_lists_in_cells_are_read(street: StudyOf, tmp_path: Path) -> None:
    imported(street, tmp_path, "alpha", 'file;named\na.jpg;"[""2"", 3]"\n', map="image=file,boxes=named")
    assert SystemContent.objects.get().names == ["2", "3"]


def test_keywords_find_their_item_by_its_text(news: StudyOf, tmp_path: Path) -> None:
    for image, text in TEXTS.items():
        Item.objects.filter(name=image).update(text=text)
    imported(news, tmp_path, "gamma", f"text,keywords\n{TEXTS['b.jpg']},rain; big  flood\n")
    row = SystemContent.objects.select_related("item").get()
    assert (row.item.name, row.names, str(row)) == ("b.jpg", ["rain", "big flood"], "gamma: rain, big flood")


def test_boxes_of_a_system_are_uploaded_on_the_datasets_page(street: StudyOf, designer: Client) -> None:
    designer.post(
        reverse("admin:judgments_dataset_candidates", args=[street.dataset.pk]),
        {"system": "alpha", "format": "csv", "files": [upload("c.csv", "image,boxes\na.jpg,2 3\n")]},
    )
    assert run_job(Job.objects.get(kind="import_candidates").pk)
    assert SystemContent.objects.get().names == ["2", "3"]
    shown = designer.get(reverse("admin:judgments_dataset_change", args=[street.dataset.pk])).content.decode()
    assert "1 list of boxes or keywords" in shown


def test_the_page_names_baselines_in_the_language_of_its_reader(
    street: StudyOf, tmp_path: Path, designer: Client
) -> None:
    imported(street, tmp_path, "random boxes", "image,boxes\na.jpg,2 3\n")
    aggregated(street, tmp_path)
    shown = designer.get(page(street.study, "results"), headers={"Accept-Language": "de"}).content.decode()
    assert "zufällige Rahmen" in shown
    assert "random boxes" in shown  # a system keeps its name


def test_an_unpublished_system_is_scored_in_studies_of_its_owner_alone(
    street: StudyOf, tmp_path: Path
) -> None:
    path = tmp_path / "c.csv"
    path.write_text("image,boxes\na.jpg,2 3\n")
    ada = researcher("ada")
    import_candidates(format="csv", path=path, dataset="street", system="alpha", user=ada)
    assert "system_content" not in aggregated(street, tmp_path)[0]["figures"]
    street.study.created_by = ada
    street.study.save()
    assert "system_content" in aggregated(street, tmp_path)[0]["figures"]


def test_a_box_that_an_image_has_no_more_is_a_problem(street: StudyOf, tmp_path: Path) -> None:
    imported(street, tmp_path, "alpha", "image,boxes\na.jpg,2 5\n")
    Item.objects.filter(name="a.jpg").update(boxes=boxes(5))
    assert check_integrity().problems == ["System alpha names boxes that a.jpg has not: 5."]
    SystemContent.objects.update(item=make_dataset("other", {"a.jpg": ()}).items.get())
    assert check_integrity().problems == ["System alpha names boxes of a.jpg, an image of another dataset."]
