"""Where METEOR's tables may lie, and what is said of copies that cannot be used."""

import gzip
import sys
from collections.abc import Callable
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from evaluation.metrics import InvalidFile, MissingTables, score
from evaluation.metrics.meteor.tables import CACHE, DATA, NOTHING, Tables, cache_folder, find_tables

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


def found_at(place: Path | str, monkeypatch: pytest.MonkeyPatch) -> Tables:
    monkeypatch.setenv(DATA, str(place))
    return find_tables()


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
        assert find_tables() is NOTHING  # a package of that name without the program
    program().rename(tmp_path / "site/pycocoevalcap/meteor")
    with monkeypatch.context() as context:
        context.setattr(sys, "path", [str(tmp_path / "site")])
        assert find_tables().function_words == {"the", "a"}
        context.setattr(sys, "path", [])
        assert find_tables() is NOTHING
    assert sys.modules.get("pycocoevalcap") is imported


def test_none_asks_for_no_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found_at("none", monkeypatch) is NOTHING


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
    with pytest.raises(InvalidFile, match=r"QUORUM_METEOR_DATA is .*nowhere, expected a folder, meteor-1.5"):
        found_at(tmp_path / "nowhere", monkeypatch)


def test_a_folder_without_the_program_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(InvalidFile, match=r"found no meteor-1.5.jar in the folder .*, expected the folder"):
        found_at(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"edu/cmu/meteor/util/Constants.class": b"\x01\x00\x031.4"}, "another version of METEOR, expected"),
        ({"edu/cmu/meteor/util/Constants.class": None}, "no item named 'edu/.*expected the program"),
        ({"function/english.words": None}, "no item named 'function/english.words'.*; expected the program"),
        ({"synonym/english.synsets": b"child\n"}, "english.synsets holds other lines than an entry and its"),
        ({"synonym/english.synsets": b"child\none\n"}, "holds other lines than an entry and its numbers"),
        ({"synonym/english.synsets": b"child\n1\nkid\n"}, "holds other lines than an entry and its numbers"),
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
        (b"no gzip file at all", "damaged, expected METEOR's paraphrases in a gzip file"),
        (gzip.compress(TABLE.encode(), mtime=0)[:-9], "damaged, expected METEOR's paraphrases"),
        (b"short", "cannot be read, expected METEOR's paraphrases in a gzip file"),
        (gzip.compress(b"", mtime=0), "damaged, expected METEOR's paraphrases"),
        ("0.5\nnext to\n", "holds other lines than a probability, a phrase and a phrase in turn"),
        (f"0.5\n{'a ' * 15}a\nb\n", "holds a phrase of 16 words, expected up to 15"),
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
    with pytest.raises(InvalidFile, match=f"{name} cannot be read as a zip file, expected meteor-1.5.jar"):
        found_at(tmp_path / name, monkeypatch)


def test_a_wheel_of_something_else_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with ZipFile(tmp_path / "other-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("other/__init__.py", "")
    with pytest.raises(InvalidFile, match=r"other-1.0.*no item named 'pycocoevalcap/meteor/meteor-1.5.jar'"):
        found_at(tmp_path / "other-1.0-py3-none-any.whl", monkeypatch)
