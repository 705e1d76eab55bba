"""METEOR: tables, matches, alignment and scores against plain programs and the official figures.

tests/golden/meteor.json was made by the jar of METEOR 1.5 (its `source` says how) from made-up captions.
"""

import gzip
import io
import sys
from collections.abc import Callable
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorum.metrics import InvalidFile, InvalidInput, MetricScore, MissingTables, UnknownName, score
from quorum.metrics.comparison import ReferenceComparison, Tokenization
from quorum.metrics.meteor.normalisation import normalise_texts, normalised_line
from quorum.metrics.meteor.relations import STAGE_CHOICES
from quorum.metrics.meteor.scoring import meteor_scores, meteor_statistics, pooled_statistics
from quorum.metrics.meteor.table_files import DATA
from quorum.metrics.meteor.tables import (
    CACHE,
    NO_TABLES,
    MeteorTables,
    cache_folder,
    load_tables,
    read_paraphrases,
)
from quorum.metrics.text.snowball import snowball_stems
from quorum.metrics.text.tokenizers import tokenizer_named
from quorum.metrics.text.tokens import encode_texts
from tests.metrics import plainly_meteor
from tests.metrics.plainly_meteor import Data
from tests.metrics.reading import GOLDEN, Task, coco, expected_images, expert_pairs, read_json, real, small
from tests.refusals import refuses

OFFICIAL = read_json(GOLDEN / "meteor.json")
SPACE = Tokenization(tokenizer_named("space"))


def meteor(
    candidates: list[str], references: list[list[str]], tokenizer: str = "ptb", **options: str
) -> MetricScore:
    return score(candidates, references, ["meteor"], tokenizer, **options).scores["meteor"]


def agreeing(task: Task) -> MetricScore:
    """Scores that are those of the evaluation."""
    found, expected = meteor(task.captions, task.references), task.expected["meteor"]
    np.testing.assert_allclose(found.images, expected_images(expected, task.images), rtol=0, atol=1e-14)
    assert found.corpus == pytest.approx(expected["corpus"], rel=0, abs=1e-14)
    return found


def official_captions() -> tuple[list[str], list[list[str]]]:
    """Candidates with several references each."""
    captions = OFFICIAL["references"]["captions"]
    return [ours for ours, _ in captions], [theirs for _, theirs in captions]


@pytest.mark.large
@pytest.mark.parametrize("stages", STAGE_CHOICES)
def test_statistics_and_scores_are_those_of_the_program(meteor_tables: MeteorTables, stages: str) -> None:
    comparison = ReferenceComparison.from_texts(
        [ours for ours, _ in OFFICIAL["pairs"]], [[theirs] for _, theirs in OFFICIAL["pairs"]]
    )
    found = meteor_statistics(comparison, SPACE, meteor_tables, STAGE_CHOICES.index(stages) + 1)
    assert found.counts.tolist() == OFFICIAL["statistics"][stages]
    *each, corpus = OFFICIAL["scores"][stages]
    np.testing.assert_allclose(meteor_scores(found), each, rtol=0, atol=1e-14)
    np.testing.assert_allclose(meteor_scores(pooled_statistics(found)), [corpus], rtol=0, atol=1e-14)


@pytest.mark.usefixtures("meteor_tables")
def test_the_best_of_several_references_counts_as_in_the_program() -> None:
    *each, corpus = OFFICIAL["references"]["scores"]
    found = meteor(*official_captions(), tokenizer="space")
    np.testing.assert_allclose(found.images, each, rtol=0, atol=1e-14)
    assert found.corpus == pytest.approx(corpus, rel=0, abs=1e-14)


def test_without_tables_equal_words_and_stems_count_and_the_signature_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The program says the same when it is given two stages and an empty list of function words."""
    monkeypatch.setenv(DATA, "none")
    *each, corpus = OFFICIAL["references"]["without_tables"]
    found = meteor(*official_captions(), tokenizer="space", stages="exact-stem")
    np.testing.assert_allclose(found.images, each, rtol=0, atol=1e-14)
    assert found.corpus == pytest.approx(corpus, rel=0, abs=1e-14)
    assert found.signature == "meteor|stages:exact-stem|data:none|tok:space|refs:1-4|v:1.0"


def test_without_tables_meteor_is_refused_and_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DATA, "none")
    with refuses(MissingTables, "meteor.txt", "exact-stem"):
        score(["a dog"], [["the dog"]], ["bleu-4", "meteor"])
    with refuses(MissingTables, "synonym"):
        meteor(["a dog"], [["a dog"]], stages="exact-stem-synonym")
    assert score(["a dog"], [["the dog"]], ["meteor|stages:exact-stem"]).warnings == ()


@pytest.mark.parametrize("system", ["close", "vague", "nasty"])
@pytest.mark.usefixtures("meteor_tables")
def test_raw_captions_score_as_in_the_coco_evaluation(system: str) -> None:
    found = agreeing(small(system))
    assert found.signature == (
        "meteor|stages:exact-stem-synonym-paraphrase|data:7bb15664|tok:ptb|refs:5|v:1.0"
    )


@pytest.mark.parametrize("system", ["nearest", "random"])
@pytest.mark.usefixtures("meteor_tables")
def test_real_captions_score_as_in_the_coco_evaluation(shared: Path, system: str) -> None:
    agreeing(real(shared, system))


@pytest.mark.parametrize("system", ["human", "system-1", "system-2", "system-3"])
@pytest.mark.usefixtures("meteor_tables")
def test_the_coco_systems_score_as_in_the_coco_evaluation(shared: Path, system: str) -> None:
    task = coco(shared, system)
    # The evaluation's tokenizer reads all captions as one text, and parts the full stop of one candidate from its
    # last letter because of the caption that comes next. METEOR alone notices.
    captions = [text.replace("new Nintendo Wii U.", "new Nintendo Wii U") for text in task.captions]
    found = meteor(captions, task.references)
    assert found.corpus == pytest.approx(task.expected["corpus"]["meteor"], rel=0, abs=1e-12)
    ours = dict(zip(task.images, found.images, strict=True))
    for image, values in task.expected["images"].items():
        assert ours[image] == pytest.approx(values["meteor"], rel=0, abs=1e-10), image


@pytest.mark.usefixtures("meteor_tables")
def test_flickr8ks_expert_pairs_score_as_in_the_coco_evaluation(shared: Path) -> None:
    task = expert_pairs(shared)
    expected = np.array(task.expected["meteor"], dtype=np.float64)
    np.testing.assert_allclose(meteor(task.captions, task.references).images, expected, rtol=1e-9, atol=1e-13)


def test_stems_are_those_of_the_program() -> None:
    assert (
        dict(zip(OFFICIAL["stems"], snowball_stems(list(OFFICIAL["stems"])), strict=True))
        == (OFFICIAL["stems"])
    )


def program_words(line: str) -> list[str]:
    """What the program makes of a normalised line: lower case, cut at blanks."""
    return line.lower().split(" ") if line else []


def test_lines_are_normalised_as_by_the_program(meteor_tables: MeteorTables) -> None:
    for line, expected in OFFICIAL["words"].items():
        assert normalised_line(line, meteor_tables.abbreviations) == program_words(expected), line


@pytest.mark.parametrize("known", [{}, {"No": True, "Mr": False}])
def test_words_are_normalised_run_by_run_as_line_by_line(known: dict[str, bool]) -> None:
    tokenizer = tokenizer_named("ptb")
    raw = encode_texts([*OFFICIAL["words"], "1 1/2 dogs", "no run here", ""], tokenizer)
    found = normalise_texts(raw, known)
    for text in range(raw.starts.size - 1):
        line = " ".join(raw.vocabulary[word] for word in raw.tokens[raw.starts[text] : raw.starts[text + 1]])
        words = found.tokens[found.starts[text] : found.starts[text + 1]]
        assert [found.vocabulary[word] for word in words] == normalised_line(line, known), line


def test_an_abbreviation_keeps_its_full_stop_where_the_list_says_so() -> None:
    known = {"No": True, "Mr": False}
    assert normalised_line("No. 5", known) == ["no.", "5"]
    assert normalised_line("No. Five", known) == ["no", ".", "five"]
    assert normalised_line("Mr. Smith", known) == ["mr.", "smith"]
    assert normalised_line("Dr. Smith", known) == ["dr", ".", "smith"]
    assert normalised_line("inc. and", known) == ["inc.", "and"]


@pytest.mark.parametrize(
    ("candidate", "references", "expected"),
    [
        ("", ["a dog"], 0.0),
        ("a dog", [""], 0.0),
        ("", [""], 0.0),
        ("... !!", ["?"], 0.0),
        ("a dog", ["a dog"], 1.0),
        ("שלום עולם", ["שלום עולם"], 1.0),
        ("😀 dog", ["😀 dog", "cat"], 1.0),
        ("word " * 10_000, ["word " * 10_000], 1.0),
        (" ".join(f"w{n}" for n in range(10_000)), ["nothing of it"], 0.0),
    ],
)
def test_nasty_captions_have_plain_scores(
    monkeypatch: pytest.MonkeyPatch, candidate: str, references: list[str], expected: float
) -> None:
    monkeypatch.setenv(DATA, "none")
    found = meteor([candidate], [references], stages="exact-stem")
    assert found.images.tolist() == pytest.approx([expected], rel=1e-15)
    assert found.corpus == pytest.approx(expected, rel=1e-15)


def test_an_unknown_stage_is_refused() -> None:
    with refuses(InvalidInput, "stages", "all", "exact-stem"):
        meteor(["a dog"], [["a dog"]], stages="stem")
    with refuses(UnknownName, "stages"):
        meteor(["a dog"], [["a dog"]], stage="exact")


def test_a_score_can_be_worked_out_by_hand() -> None:
    """Two of three words match in one chunk: P = R = 2/3, Pen = 0.6 (1/2) ^ 0.2."""
    comparison = ReferenceComparison.from_texts(["a small dog"], [["a small cat"]])
    found = meteor_scores(meteor_statistics(comparison, SPACE, NO_TABLES, 2))
    assert found[0] == pytest.approx(2 / 3 * (1 - 0.6 * 0.5**0.2), rel=1e-15)


TOKENIZATION = Tokenization(tokenizer_named("space"))
WORDS = ("run", "runs", "dog", "hound", "the", "of")
PHRASES = ("run", "dog", "the dog", "of the", "run of the", "hound the", "dog run")
words = st.lists(st.sampled_from(WORDS), max_size=9)

tables = st.builds(
    Data,
    st.frozensets(st.sampled_from(("the", "of", "dog"))),
    st.dictionaries(
        st.sampled_from(WORDS), st.frozensets(st.integers(1, 3), min_size=1), min_size=1, max_size=4
    ),
    st.lists(
        st.tuples(st.sampled_from(PHRASES), st.sampled_from(PHRASES)).filter(lambda pair: pair[0] != pair[1]),
        unique=True,
        max_size=8,
    ),
)


def counted(candidates: list[str], references: list[list[str]], data: Data) -> plainly_meteor.Counts:
    comparison = ReferenceComparison.from_texts(candidates, references)
    return meteor_statistics(comparison, TOKENIZATION, data.tables(), 4 if data.paraphrases else 3).counts


@pytest.mark.large
@given(words, words, tables)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_the_search_finds_what_the_plain_form_finds(ours: list[str], theirs: list[str], data: Data) -> None:
    found = counted([" ".join(ours)], [[" ".join(theirs)]], data)
    assert found[0].tolist() == plainly_meteor.statistics(ours, theirs, data)


@pytest.mark.parametrize("repeated", [2, 12])
def test_matches_of_one_word_with_many_are_tried_in_order(repeated: int) -> None:
    """Equal words first, then stems and synonyms, each from left to right, be they few or many."""
    data = Data(frozenset(["dog"]), {"dog": frozenset([1]), "hound": frozenset([1])}, [("dog", "run dog")])
    ours = ["running", "dog", "hound", "runs"] * repeated
    theirs = ["hound", "run", "dog", "runs", "run", "dog", "dogs"]
    found = counted([" ".join(ours)], [[" ".join(theirs)]], data)
    assert found[0].tolist() == plainly_meteor.statistics(ours, theirs, data)


def test_the_first_stage_alone_counts_equal_words_only() -> None:
    data = Data(frozenset(), {"dog": frozenset([1]), "hound": frozenset([1])}, ())
    comparison = ReferenceComparison.from_texts(["dog runs the"], [["hound run the"]])
    counts = meteor_statistics(comparison, TOKENIZATION, data.tables(), 1).counts
    assert counts[0].tolist() == [3, 3, 0, 0, 1, 1, *[0] * 14, 1]


@given(st.lists(words.filter(bool), min_size=1, max_size=5), tables)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_captions_that_equal_a_reference_score_one_alone_and_together(
    texts: list[list[str]], data: Data
) -> None:
    captions = [" ".join(text) for text in texts]
    comparison = ReferenceComparison.from_texts(captions, [["hound", caption] for caption in captions])
    statistics = meteor_statistics(comparison, TOKENIZATION, data.tables(), 2)
    np.testing.assert_allclose(meteor_scores(statistics), 1.0, rtol=1e-15)
    np.testing.assert_allclose(meteor_scores(pooled_statistics(statistics)), 1.0, rtol=1e-15)


@given(words, words, tables, st.integers(1, 6))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_the_search_finds_the_same_when_it_cannot_hold_all_matches_at_once(
    ours: list[str], theirs: list[str], data: Data, max_matches: int
) -> None:
    comparison = ReferenceComparison.from_texts([" ".join(ours)], [[" ".join(theirs)]])
    tables, stages = data.tables(), 4 if data.paraphrases else 3
    found = meteor_statistics(comparison, TOKENIZATION, tables, stages, max_matches=max_matches).counts
    assert found.tolist() == meteor_statistics(comparison, TOKENIZATION, tables, stages).counts.tolist()


MEMBERS = {
    "edu/cmu/meteor/util/Constants.class": b"\xca\xfe\xba\xbe\x01\x00\x031.5",
    "function/english.words": b"the\na\n",
    "nonbreaking/english.prefixes": b"# abbreviations\n\nMr\nNo #NUMERIC_ONLY#\n",
    "synonym/english.exceptions": b"child\nchildren childer\nkid\nchildren\n",
    "synonym/english.synsets": b"child\n1 2\nkid\n2\nbox\n7\nto\n9\n",
}

TABLE = "0.5\nnext to\nbeside\n0.25\nnext to\nclose by\n0.1\nbeside\nat\n"
Maker = Callable[..., Path]


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))


@pytest.fixture
def program(tmp_path: Path) -> Maker:
    """Makes a folder like the program's, with other members or another table where asked for."""
    made: list[Path] = []

    def make(table: bytes | str | None = TABLE, **changed: bytes | None) -> Path:
        place = tmp_path / f"program-{len(made)}"
        (place / "data").mkdir(parents=True)
        made.append(place)
        members = MEMBERS | {name: content for name, content in changed.items() if content is not None}
        with ZipFile(place / "meteor-1.5.jar", "w") as jar:
            for name, content in members.items():
                if name not in changed or changed[name] is not None:
                    jar.writestr(name, content)
        if table is not None:
            packed = table if isinstance(table, bytes) else gzip.compress(table.encode(), mtime=0)
            (place / "data/paraphrase-en.gz").write_bytes(packed)
        return place

    return make


def found_at(place: Path | str, monkeypatch: pytest.MonkeyPatch) -> MeteorTables:
    monkeypatch.setenv(DATA, str(place))
    return load_tables()


def test_a_folder_of_the_program_gives_all_tables(program: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    found = found_at(program(), monkeypatch)
    assert found.function_words == {"the", "a"}
    assert found.abbreviations == {"Mr": False, "No": True}
    assert found.synonyms is not None
    assert found.synonyms.bases == {"children": ("child", "kid"), "childer": ("child",)}
    assert list(found.synonyms.entries) == ["child", "kid", "box", "to"]
    assert found.paraphrases is not None
    assert found.paraphrases.vocabulary == ["next", "to", "beside", "close", "by", "at"]
    assert found.paraphrases.targets.tolist() == [1, 2, 3]
    assert found.paraphrases.target_starts.tolist() == [0, 2, 3]


def test_a_table_of_several_blocks_has_the_same_phrases_as_one_of_a_single_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = "".join(f"0.5\nsource number {n}\ntarget number {n}\n" for n in range(50))
    packed = gzip.compress(lines.encode(), mtime=0)
    whole = read_paraphrases(io.BytesIO(packed), "table")
    monkeypatch.setattr("quorum.metrics.meteor.tables.READ_BYTES", 64)
    in_blocks = read_paraphrases(io.BytesIO(packed), "table")
    assert whole.keys() == in_blocks.keys()
    for name, column in whole.items():
        np.testing.assert_array_equal(column, in_blocks[name])


def test_the_tables_do_what_they_say(program: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DATA, str(program()))

    def meteor(candidate: str, reference: str) -> float:
        return score([candidate], [[reference]], ["meteor"], "space").scores["meteor"].corpus

    # Each time "x" matches, and what stands beside it does or does not.
    alone = meteor("x box", "x kid")
    assert meteor("x kid", "x children") > alone  # two irregular forms of one synonym set
    assert meteor("x kid", "x child") > alone
    assert meteor("x beside", "x next to") > alone
    assert meteor("x at", "x beside") > alone
    assert meteor("x box", "x boss") == meteor("x at", "x by") == alone


@pytest.mark.parametrize("inside", ["", "meteor", "pycocoevalcap/meteor"])
def test_a_folder_around_the_program_will_do(
    program: Maker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, inside: str
) -> None:
    place = tmp_path / "around" / inside
    place.parent.mkdir(parents=True, exist_ok=True)
    program().rename(place)
    assert found_at(tmp_path / "around", monkeypatch).paraphrases is not None


def test_a_jar_takes_the_paraphrases_beside_it(program: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    place = program()
    (place / "data/paraphrase-en.gz").rename(place / "paraphrase-en.gz")
    assert found_at(place / "meteor-1.5.jar", monkeypatch).paraphrases is not None


def test_a_wheel_is_read_as_it_is(program: Maker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    place = program()
    with ZipFile(tmp_path / "pycocoevalcap-1.2-py3-none-any.whl", "w", ZIP_DEFLATED) as wheel:
        for name in ("meteor-1.5.jar", "data/paraphrase-en.gz"):
            wheel.write(place / name, f"pycocoevalcap/meteor/{name}")
    packed = found_at(tmp_path / "pycocoevalcap-1.2-py3-none-any.whl", monkeypatch)
    assert packed.paraphrases is not None
    assert packed.digest == found_at(place, monkeypatch).digest


def test_an_installed_package_is_found_and_not_imported(
    program: Maker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "site/pycocoevalcap").mkdir(parents=True)
    monkeypatch.setenv(DATA, "")
    imported = sys.modules.get("pycocoevalcap")
    with monkeypatch.context() as context:
        context.setattr(sys, "path", [str(tmp_path / "site")])
        assert load_tables() is NO_TABLES  # a package of that name without the program
    program().rename(tmp_path / "site/pycocoevalcap/meteor")
    with monkeypatch.context() as context:
        context.setattr(sys, "path", [str(tmp_path / "site")])
        assert load_tables().function_words == {"the", "a"}
        context.setattr(sys, "path", [])
        assert load_tables() is NO_TABLES
    assert sys.modules.get("pycocoevalcap") is imported


def test_none_asks_for_no_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found_at("none", monkeypatch) is NO_TABLES


def test_without_paraphrases_three_stages_are_left(program: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DATA, str(program(table=None)))
    with pytest.raises(MissingTables, match=r"paraphrase table.*meteor\|stages:exact-stem-synonym,"):
        score(["a dog"], [["a dog"]], ["meteor"])
    name = "meteor|stages:exact-stem-synonym"
    assert score(["a dog"], [["a dog"]], [name]).scores[name].signature.startswith(f"{name}|data:")


def test_another_content_has_another_digest(program: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    places = program(), program(), program(table=TABLE + "0.1\nx\ny\n"), program(table=None)
    first, again, *others = (found_at(place, monkeypatch).digest for place in places)
    assert first == again
    assert len({first, *others}) == 3


def test_tables_are_read_from_the_cache_once_they_were_read(
    program: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = found_at(program(), monkeypatch)
    (kept,) = cache_folder().iterdir()
    second = program()
    # What the file ends with stays; were it read again, it would be found to be damaged.
    table = second / "data/paraphrase-en.gz"
    table.write_bytes(b"damaged" + table.read_bytes()[-8:])
    again = found_at(second, monkeypatch)
    assert again.paraphrases is not None
    assert first.paraphrases is not None
    assert again.paraphrases.tokens.tolist() == first.paraphrases.tokens.tolist()
    assert kept.name == f"meteor-{first.digest}-1.npz"


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 no more than a beginning"])
def test_a_damaged_cache_is_made_anew(program: Maker, monkeypatch: pytest.MonkeyPatch, damage: bytes) -> None:
    found_at(program(), monkeypatch)
    (kept,) = cache_folder().iterdir()
    whole = kept.stat().st_size
    kept.write_bytes(damage)
    assert found_at(program(), monkeypatch).paraphrases is not None
    assert kept.stat().st_size == whole


def test_a_cache_that_cannot_be_written_is_no_error(
    program: Maker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv(CACHE, str(tmp_path / "file/cache"))
    assert found_at(program(), monkeypatch).paraphrases is not None


def test_a_cache_file_that_cannot_be_replaced_leaves_nothing_behind(
    program: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    found_at(program(), monkeypatch)
    (kept,) = cache_folder().iterdir()
    kept.unlink()
    kept.mkdir()
    assert found_at(program(), monkeypatch).paraphrases is not None
    assert list(cache_folder().iterdir()) == [kept]


def test_the_cache_is_in_the_users_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(CACHE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "quorum"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache/quorum"


def test_a_place_that_does_not_exist_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with refuses(InvalidFile, "QUORUM_METEOR_DATA", "meteor-1.5"):
        found_at(tmp_path / "nowhere", monkeypatch)


def test_a_folder_without_the_program_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with refuses(InvalidFile, "meteor-1.5.jar"):
        found_at(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"edu/cmu/meteor/util/Constants.class": b"\x01\x00\x031.4"}, "version"),
        ({"edu/cmu/meteor/util/Constants.class": None}, "program"),
        ({"function/english.words": None}, r"function/english\.words"),
        ({"synonym/english.synsets": b"child\n"}, r"english\.synsets"),
        ({"synonym/english.synsets": b"child\none\n"}, "holds other lines"),
        ({"synonym/english.synsets": b"child\n1\nkid\n"}, "holds other lines"),
    ],
)
def test_a_program_that_is_another_one_is_refused(
    program: Maker, monkeypatch: pytest.MonkeyPatch, changed: dict[str, bytes | None], reason: str
) -> None:
    with pytest.raises(InvalidFile, match=reason):
        found_at(program(**changed), monkeypatch)


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (b"no gzip file at all", "paraphrases"),
        (gzip.compress(TABLE.encode(), mtime=0)[:-9], "damaged"),
        (b"short", "paraphrases"),
        (gzip.compress(b"", mtime=0), "damaged"),
        ("0.5\nnext to\n", "probability"),
        (f"0.5\n{'a ' * 15}a\nb\n", r"\b16\b.*\b15\b"),
    ],
)
def test_paraphrases_that_are_none_are_refused(
    program: Maker, monkeypatch: pytest.MonkeyPatch, table: bytes | str, reason: str
) -> None:
    with pytest.raises(InvalidFile, match=reason):
        found_at(program(table=table), monkeypatch)


@pytest.mark.parametrize("name", ["meteor-1.5.jar", "pycocoevalcap-1.2-py3-none-any.whl"])
def test_a_file_that_is_no_zip_file_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_bytes(b"PK and no more")
    with refuses(InvalidFile, name, "meteor-1.5.jar"):
        found_at(tmp_path / name, monkeypatch)


def test_a_wheel_of_something_else_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with ZipFile(tmp_path / "other-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("other/__init__.py", "")
    with refuses(InvalidFile, "other-1", "pycocoevalcap/meteor/meteor-1.5.jar"):
        found_at(tmp_path / "other-1.0-py3-none-any.whl", monkeypatch)
