"""Candidate pairs are what V15 section 6 says, and systems take part equally."""

import json
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

from common.errors import DesignError
from judgments.design.reading.checking import make_design
from judgments.design.reading.presets import PRESETS
from judgments.design.tables.sampling import PAIR_KINDS
from judgments.drawing.keys import candidate_key
from judgments.drawing.material import Image, Material, Pair, Text
from judgments.drawing.pairs.drawing import DrawnPairs, draw_pairs
from judgments.drawing.pairs.published import pairs_left_out
from judgments.importers import open_dataset
from judgments.kinds import KINDS
from tests.judgments.material import made_up
from tests.refusals import refuses


def pairs_of(material: Material, wanted: dict[str, int], *, seed: int = 5, **options: object) -> list[Pair]:
    given: dict = {"references": "all", "source": "auto", "seed": seed} | options
    return draw_pairs(
        material, [i for i in material.images if i.split != "dev"], pair_counts=wanted, **given
    ).pairs


def test_each_kind_pairs_what_its_name_says() -> None:
    material = made_up()
    images = {image.name: image for image in material.images}
    pairs = pairs_of(material, {"HC": 30, "HI": 30, "HM": 30, "MM": 30})
    assert Counter(pair.kind for pair in pairs) == {"HC": 30, "HI": 30, "HM": 30, "MM": 30}
    for pair in pairs:
        own = {text.key for text in images[pair.image].references}
        outputs = {text.key: name for name, text in images[pair.image].outputs}
        candidates = {pair.first.key, pair.second.key}
        assert pair.first.text != pair.second.text
        assert len(candidates & own) == {"HC": 2, "HI": 1, "HM": 1, "MM": 0}[pair.kind]
        machines = {pair.first_system, pair.second_system} - {None}
        assert len(machines) == {"HC": 0, "HI": 0, "HM": 1, "MM": 2}[pair.kind]
        assert machines == {outputs[key] for key in candidates if key in outputs}


def test_human_candidates_are_held_out_of_the_pair_s_references() -> None:
    material = made_up()
    for pair in pairs_of(material, {"HC": 30, "HI": 30, "HM": 30, "MM": 30}):
        human = {pair.first.key, pair.second.key}
        assert not human & set(pair.references)
        assert len(pair.references) == {"HC": 3, "HI": 4, "HM": 4, "MM": 5}[pair.kind]


def test_a_reference_with_a_candidate_s_words_is_held_out_too() -> None:
    twice = Image(
        "image-0",
        "test",
        (Text("a", "a dog"), Text("b", " a dog"), Text("c", "a cat"), Text("d", "a cow")),
    )
    material = Material("twins", (twice,))
    for pair in pairs_of(material, {"HC": 3}):
        texts = {pair.first.text.strip(), pair.second.text.strip()}
        assert len(texts) == 2
        left = [text.text.strip() for text in twice.references if text.key in pair.references]
        assert not texts & set(left)


@pytest.mark.parametrize("kind", ["HM", "MM"])
def test_systems_take_part_in_equally_many_pairs(kind: str) -> None:
    pairs = pairs_of(made_up(40, systems=5), {kind: 60})
    counts = Counter(name for pair in pairs for name in (pair.first_system, pair.second_system) if name)
    assert len(counts) == 5
    assert max(counts.values()) - min(counts.values()) <= 1


def test_no_pair_is_drawn_twice() -> None:
    pairs = pairs_of(made_up(8, references=4, dev=2), {"HC": 36})
    assert len({frozenset((pair.image, pair.first.key, pair.second.key)) for pair in pairs}) == 36


def test_equal_texts_of_two_systems_are_never_paired_and_count_once() -> None:
    same = Text("c-same", "the same words")
    image = Image(
        "image-0",
        "test",
        (Text("r", "a reference"),),
        (("one", same), ("two", same), ("three", Text("c-other", "other words"))),
    )
    material = Material("equal", (image,))
    assert len(pairs_of(material, {"MM": 1})) == 1
    with refuses(DesignError, "2", "MM", "equal", "1", field="sampling.pairs.MM"):
        pairs_of(material, {"MM": 2})


def test_the_seed_alone_decides_which_pairs_are_drawn() -> None:
    material = made_up()
    assert pairs_of(material, {"HC": 20}) == pairs_of(material, {"HC": 20})
    assert pairs_of(material, {"HC": 20}) != pairs_of(material, {"HC": 20}, seed=6)
    alone = pairs_of(material, {"MM": 10})
    beside = [pair for pair in pairs_of(material, {"HC": 10, "MM": 10}) if pair.kind == "MM"]
    assert alone == beside


def test_without_numbers_there_are_a_hundred_of_each_kind_or_as_many_as_there_are() -> None:
    counts = Counter(pair.kind for pair in pairs_of(made_up(10, systems=2, dev=2), {}))
    assert counts == {"HC": 80, "HI": counts["HI"], "HM": 80, "MM": 8}
    assert 0 < counts["HI"] <= 40


def test_references_are_drawn_with_the_seed_and_keep_their_order() -> None:
    pairs = pairs_of(made_up(), {"MM": 10}, references=2)
    for pair in pairs:
        assert len(pair.references) == 2
        assert list(pair.references) == sorted(pair.references)
    with pytest.raises(DesignError, match=r"the 9 references"):
        pairs_of(made_up(), {"MM": 10}, references=9)


def test_published_pairs_are_taken_as_they_are() -> None:
    material = made_up()
    published = tuple(
        Pair(
            key=str(number),
            kind="MM",
            image=f"image-{number % 10}",
            first=Text(f"x{number}", f"one {number}"),
            second=Text(f"y{number}", f"two {number}"),
            first_system="machine-1",
            second_system=f"machine-{2 + number % 2}",
            references=(f"image-{number % 10}#0",),
        )
        for number in range(20)
    )
    material = replace(material, published_pairs=published)
    drawn = pairs_of(material, {"MM": 6})
    assert all(pair in published for pair in drawn)
    assert Counter(pair.second_system for pair in drawn) == {"machine-2": 3, "machine-3": 3}
    fresh = pairs_of(material, {"MM": 6}, source="references")
    assert not any(pair in published for pair in fresh)


def test_a_published_pair_of_equal_texts_is_left_out_and_not_asked_for() -> None:
    texts = [("one", "two"), (" the same ", "the same"), ("three", "four")]
    published = tuple(
        Pair(str(n), "MM", "image-0", Text(f"x{n}", first), Text(f"y{n}", second), "a", "b", ("image-0#0",))
        for n, (first, second) in enumerate(texts)
    )  # fmt: skip
    material = replace(made_up(), published_pairs=published)
    assert {pair.key for pair in pairs_of(material, {"MM": 3})} == {"0", "2"}
    with refuses(DesignError, "4", "MM", "made-up", "2", field="sampling.pairs.MM"):
        pairs_of(material, {"MM": 4})


def test_published_pairs_of_a_dataset_without_any_are_refused() -> None:
    with refuses(DesignError, field="sampling.source"):
        pairs_of(made_up(), {"MM": 6}, source="published")


def published_pair(number: int, first: str, second: str, kind: str = "MM", image: str = "image-0") -> Pair:
    return Pair(
        str(number),
        kind,
        image,
        Text(f"x{number}", first),
        Text(f"y{number}", second),
        "a",
        "b",
        (f"{image}#0",),
    )


def test_a_published_pair_and_its_mirror_image_are_judged_once() -> None:
    published = (
        published_pair(0, "one", "two"),
        published_pair(1, "two ", "one"),
        published_pair(2, "one", "two", image="image-1"),
        published_pair(3, "one", "two"),
    )
    material = replace(made_up(), published_pairs=published)
    drawn = pairs_of(material, {"MM": 4})
    assert sorted(pair.image for pair in drawn) == ["image-0", "image-1"]
    judged = [image for image in material.images if image.split == "test"]
    assert pairs_left_out(material, judged, pair_counts={"MM": 4}, drawn=drawn) == {
        "repeated_pairs_left_out": 2
    }
    with refuses(DesignError, "5", "MM", field="sampling.pairs.MM"):
        pairs_of(material, {"MM": 5})


def test_two_texts_are_compared_under_one_kind_alone() -> None:
    """A machine that says word for word what a person said gives the pair of an HC pair again."""
    image = Image(
        "image-0",
        "test",
        (Text("a", "a dog"), Text("b", "a cat"), Text("c", "a cow")),
        (("parrot", Text("c-1", "a cat")),),
    )
    pairs = pairs_of(Material("parrot", (image,)), {})
    compared = [frozenset((pair.first.text, pair.second.text)) for pair in pairs]
    # HM could pair the parrot with "a dog" and "a cow", but HC has compared both with "a cat" already
    assert len(set(compared)) == len(compared) == 3


@pytest.mark.parametrize(("name", "left"), [("pascal-50s", 3_996), ("abstract-50s", 400)])
def test_the_published_pairs_of_the_real_data_hold_no_two_alike(name: str, left: int, shared: Path) -> None:
    text = (shared / "data" / name / "pairs.jsonl").read_text("utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    published = tuple(
        published_pair(row["pair"], row["first"], row["second"], row["kind"], row["image"]) for row in rows
    )
    images = tuple(
        Image(image, "test", (Text(f"{image}#0", "a reference"),))
        for image in sorted({row["image"] for row in rows})
    )
    material = Material(name, images, published_pairs=published)
    wanted = dict(Counter(row["kind"] for row in rows))
    drawn = pairs_of(material, wanted)
    assert len(drawn) == left
    assert (
        len({(pair.image, frozenset((pair.first.text.strip(), pair.second.text.strip()))) for pair in drawn})
        == left
    )
    notes = pairs_left_out(material, images, pair_counts=wanted, drawn=drawn)
    # one pair of PASCAL-50S has two equal texts, and three compare what another one compares
    wanted_notes = {"pairs_of_equal_texts_left_out": 1, "repeated_pairs_left_out": 3}
    assert notes == (wanted_notes if name == "pascal-50s" else {})


def with_references(counts: list[int], kind: str = "MM") -> Material:
    """A published pair for each count, which has so many references."""
    pairs = tuple(
        replace(
            published_pair(number, f"one {number}", f"two {number}", kind),
            references=tuple(f"image-0#{place}" for place in range(count)),
        )
        for number, count in enumerate(counts)
    )
    return replace(made_up(), published_pairs=pairs)


def test_a_published_pair_that_falls_short_is_passed_over_while_others_serve() -> None:
    material = with_references([3, 2, 3, 1, 3])
    for seed in range(20):
        drawn = pairs_of(material, {"MM": 3}, references=3, seed=seed)
        assert sorted(pair.key for pair in drawn) == ["0", "2", "4"]
        assert {len(pair.references) for pair in drawn} == {3}


def test_how_many_were_passed_over_is_known() -> None:
    material = with_references([2] * 7 + [3])
    images = [image for image in material.images if image.split == "test"]
    every = draw_pairs(material, images, pair_counts={"MM": 1}, references=3, source="auto", seed=5)
    none = draw_pairs(material, images, pair_counts={"MM": 8}, references=2, source="auto", seed=5)

    assert [pair.key for pair in every.pairs] == ["7"]
    assert 0 <= every.skipped_pairs <= 7
    assert none.skipped_pairs == 0
    # one after the other in the order of the seed: those before the pair that serves
    order = [pair.key for pair in pairs_of(material, {"MM": 8}, references=2)]
    assert every.skipped_pairs == order.index("7")


def test_too_few_pairs_with_references_enough_are_refused_with_what_would_work() -> None:
    material = with_references([3, 2, 3, 1, 3])
    with pytest.raises(DesignError) as refused:
        pairs_of(material, {"MM": 4}, references=3)
    assert refused.value.field == "sampling.references"
    assert "at most 2 references for each" in str(refused.value)
    assert "for 1 pair fewer" in str(refused.value)
    assert "MM = 3" in str(refused.value)
    assert len(pairs_of(material, {"MM": 3}, references=3)) == 3
    assert len(pairs_of(material, {"MM": 4}, references=2)) == 4


def test_more_pairs_than_there_are_at_all_are_refused_as_such() -> None:
    with refuses(DesignError, "6", "MM", field="sampling.pairs.MM"):
        pairs_of(with_references([3, 2, 3, 1, 3]), {"MM": 6}, references=3)


def test_without_numbers_pairs_that_fall_short_are_left_out() -> None:
    assert len(pairs_of(with_references([3, 2, 3, 1, 3]), {}, references=3)) == 3
    with pytest.raises(DesignError, match="at most 3"):
        pairs_of(with_references([3, 2, 3, 1, 3]), {}, references=4)


def test_new_pairs_are_drawn_from_images_with_references_enough() -> None:
    """HC holds two of an image's references back: of five, three are left; of three, one."""
    few = [
        replace(image, references=image.references[:3]) if number % 2 else image
        for number, image in enumerate(made_up().images)
    ]
    material = Material("few", tuple(few))
    drawn = pairs_of(material, {"HC": 70}, references=3)  # ten of each of the seven images with five
    assert len(drawn) == 70
    assert {int(pair.image.split("-")[1]) % 2 for pair in drawn} == {0}
    with refuses(DesignError, "1", "HC = 70", field="sampling.references"):
        pairs_of(material, {"HC": 71}, references=3)


@pytest.mark.parametrize("wanted", [{"HC": 20}, {"HI": 20, "HM": 10}, {"MM": 25}])
def test_where_no_pair_falls_short_the_number_of_references_moves_no_draw(wanted: dict[str, int]) -> None:
    known = [replace(pair, references=()) for pair in pairs_of(made_up(), wanted)]
    few = [replace(pair, references=()) for pair in pairs_of(made_up(), wanted, references=2)]
    assert few == known


def test_the_study_says_how_many_were_passed_over() -> None:
    values = {
        "name": "short", "dataset": "made-up", "protocol": "triplet", "units_per_hit": 4,
        "sampling": {"pairs": {"MM": 1}, "references": 3}, "controls": {"per_hit": 0},
    }  # fmt: skip
    material = with_references([2] * 7 + [3])
    images = [image for image in material.images if image.split == "test"]
    counts = {
        seed: draw_pairs(
            material, images, pair_counts={"MM": 1}, references=3, source="auto", seed=seed
        ).skipped_pairs
        for seed in range(4)
    }
    assert any(counts.values())
    for seed, skipped in counts.items():
        notes = KINDS["triplet"].draw_batch(make_design(values | {"seed": seed}), material).notes
        assert notes.get("pairs_short_of_references", 0) == skipped
        assert sum(f": {skipped}." in sentence for sentence in notes.get("sentences", [])) == bool(skipped)


def pascal_50s(folder: Path) -> Material:
    """The paper's data as generation reads it."""
    source = open_dataset("pascal-50s", folder)
    references: defaultdict[str, list[Text]] = defaultdict(list)
    for row in source.references():
        references[row.image].append(Text(row.caption_id, row.text))
    outputs: defaultdict[str, set[tuple[str, Text]]] = defaultdict(set)
    published = []
    for pair in source.pairs():
        first, second = (Text(candidate_key(text), text) for text in (pair.first_text, pair.second_text))
        systems = pair.first_system, pair.second_system
        outputs[pair.image] |= {
            (system, text)
            for system, text in zip(systems, (first, second), strict=True)
            if system.startswith("machine")
        }
        keys = tuple(text.key for text in references[pair.image][: pair.references])
        published.append(Pair(pair.pair, pair.kind, pair.image, first, second, *systems, keys))
    images = tuple(
        Image(name, "", tuple(own), tuple(sorted(outputs[name], key=lambda one: (one[0], one[1].key))))
        for name, own in references.items()
    )
    return Material("pascal-50s", images, tuple(published), people=frozenset({"human", "human-other"}))


def test_the_preset_of_its_paper_on_the_paper_s_own_data(shared: Path) -> None:
    """48 references and a thousand pairs of each kind. Of an image's fifty, an HC pair holds two back, and more where
    others say the same: it is left 47."""
    material = pascal_50s(shared / "data" / "pascal-50s")
    sampling = PRESETS["vedantam-2015-triplet"].values["sampling"]

    def draw(source: str, pairs: dict[str, int], references: int) -> DrawnPairs:
        return draw_pairs(
            material, material.images, pair_counts=pairs, references=references, source=source, seed=7
        )

    published = draw("auto", sampling["pairs"], sampling["references"])
    assert Counter(len(pair.references) for pair in published.pairs) == {48: 3_996}
    assert published.skipped_pairs == 0

    new = draw("references", sampling["pairs"], sampling["references"])
    assert Counter(pair.kind for pair in new.pairs) == dict.fromkeys(PAIR_KINDS, 1_000)
    assert {len(pair.references) for pair in new.pairs} == {48}
    assert new.skipped_pairs > 0

    with refuses(DesignError, "48", "10", "HC = 0", field="sampling.references"):
        draw("references", {"HC": 10, "MM": 10}, 49)
