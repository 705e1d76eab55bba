"""Archives that people upload: unpacked where they are harmless, refused in one sentence where they are not."""

import io
import os
import stat
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from common.audit import acting_as
from common.environment import IncomingLimits
from common.incoming import archives
from common.incoming.archives import UploadRefused
from judgments.datasets import uploads
from judgments.importers import ImportProblem
from judgments.jobs.queues import enqueue
from tests.judgments.desk import words
from tests.limits import longest_file
from tests.refusals import assert_names, refuses


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, settings: Any) -> Path:
    settings.DATA_DIR = tmp_path
    return tmp_path


def packed(*members: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return stream.getvalue()


def keep(name: str, content: bytes, pictures: bytes | None = None) -> str:
    archive = SimpleUploadedFile("pictures.zip", pictures) if pictures is not None else None
    return uploads.store_upload([SimpleUploadedFile(name, content)], archive)


def test_a_single_file_is_read_where_it_lies() -> None:
    with uploads.open_upload(keep("rows.csv", b"image,caption\n")) as files:
        assert files.path.name == "rows.csv"
        assert files.path.read_bytes() == b"image,caption\n"
        assert files.pictures is None


def test_two_files_of_one_name_are_refused_instead_of_one_of_them_lost(data_folder: Path) -> None:
    files = [SimpleUploadedFile("1.jpg", content) for content in (b"a", b"b")]
    with pytest.raises(UploadRefused, match=r"1\.jpg"):
        uploads.store_upload(files)
    assert not list(data_folder.rglob("1.jpg"))


def test_a_folder_in_an_archive_is_opened_as_that_folder() -> None:
    archive = packed(("set/deep/a.txt", b"1"), ("set/deep/b.txt", b"2"), ("__MACOSX/set/._a.txt", b"x"))
    with uploads.open_upload(keep("set.zip", archive)) as files:
        assert sorted(path.name for path in files.path.iterdir()) == ["a.txt", "b.txt"]


def test_an_archive_of_one_file_is_that_file() -> None:
    with uploads.open_upload(keep("set.zip", packed(("captions.json", b"{}")))) as files:
        assert files.path.name == "captions.json"


def test_pictures_come_in_a_folder_of_their_own_even_when_there_is_one() -> None:
    upload = keep("rows.csv", b"x", pictures=packed(("photos/a.jpg", b"jpeg")))
    with uploads.open_upload(upload) as files:
        assert files.pictures is not None
        assert [path.name for path in Path(files.pictures).iterdir()] == ["a.jpg"]


def test_what_was_unpacked_is_gone_afterwards_and_the_upload_once_it_is_discarded(data_folder: Path) -> None:
    upload = keep("set.zip", packed(("a.txt", b"1")))
    with uploads.open_upload(upload):
        pass
    assert [
        path.name for path in (data_folder / "uploads" / upload).iterdir() if "unpacked" in path.name
    ] == []
    uploads.discard_upload(upload)
    assert list((data_folder / "uploads").iterdir()) == []
    with pytest.raises(UploadRefused, match="upload the files again"), uploads.open_upload(upload):
        pass


def link() -> zipfile.ZipInfo:
    made = zipfile.ZipInfo("passwords")
    made.external_attr = (stat.S_IFLNK | 0o777) << 16
    return made


def with_its_mark_twice() -> bytes:
    """An archive whose end states a long listing, and holds the mark of an end where that of the listing starts."""
    made = bytearray(packed(("a.csv", b"x")))
    end = len(made) - 22
    made[end + 12 : end + 16] = (2**31).to_bytes(4, "little")
    made[end + 16 : end + 20] = b"PK\x05\x06"
    return bytes(made)


def with_a_password() -> bytes:
    plain = bytearray(packed(("a.csv", b"x")))
    for place in (plain.find(b"PK\x03\x04") + 6, plain.find(b"PK\x01\x02") + 8):
        plain[place] |= 1
    return bytes(plain)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        *(
            (packed((name, b"x")), "outside the folder")
            for name in ("../a.csv", "/elsewhere/a.csv", "sub/../../a.csv", "C:/a.csv", "..\\a.csv")
        ),
        (packed((link(), b"../secret_key")), "a link or a device"),
        (packed(("zeros.csv", bytes(3 * 2**20))), "more than 200"),
        (with_its_mark_twice(), "lists"),
        (with_a_password(), "needs a password"),
        (b"not really", "zip archive"),
        (packed(("folder/", b"")), "is empty"),
        (packed((f"{'x' * 300}.txt", b"1")), "too long"),
    ],
)
def test_an_archive_that_could_do_harm_is_refused(content: bytes, sentence: str, data_folder: Path) -> None:
    with pytest.raises(UploadRefused, match=sentence):
        keep("set.zip", content)
    assert not (data_folder / "uploads").exists()


def test_more_files_or_bytes_than_are_read_are_refused(settings: Any) -> None:
    settings.INCOMING = IncomingLimits(files=2)
    with refuses(UploadRefused, "lists", "2"):
        keep("set.zip", packed(("a", b"1"), ("b", b"2"), ("c", b"3")))
    settings.INCOMING = IncomingLimits(bytes=3)
    with refuses(UploadRefused, "bytes", "4"):
        keep("set.zip", packed(("a", b"1234")))


def test_many_small_bombs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "SMALL_ARCHIVE", 2**20)
    bombs = packed(*((str(number), bytes(2**20)) for number in range(3)))
    with refuses(UploadRefused, "times", "200"):
        keep("set.zip", bombs)


def test_a_file_that_is_larger_than_it_says_is_refused(tmp_path: Path) -> None:
    honest = packed(("a.csv", b"x" * 1000))
    lying = honest.replace((1000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    with pytest.raises(UploadRefused, match="damaged"):
        uploads.unpack_archive(io.BytesIO(lying), tmp_path, name="set.zip")


def test_a_name_twice_is_refused(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        twice = packed(("a.csv", b"1"), ("a.csv", b"2"))
    with refuses(UploadRefused, "a.csv"):
        uploads.unpack_archive(io.BytesIO(twice), tmp_path, name="set.zip")


def test_only_pictures_are_taken_as_pictures() -> None:
    with refuses(UploadRefused, "page.svg"):
        keep("rows.csv", b"x", pictures=packed(("a.jpg", b"1"), ("page.svg", b"<svg/>")))


@pytest.mark.parametrize("name", [".hidden.csv", "a\nb.csv", "\u4e2d" * 90 + ".csv"])
def test_a_file_name_that_cannot_be_kept_is_refused(name: str) -> None:
    with pytest.raises(UploadRefused, match="cannot be stored"):
        uploads.check_name(name)


def test_a_problem_in_a_file_is_told_with_the_name_it_was_uploaded_under() -> None:
    upload = keep("set.zip", packed(("set/rows.csv", b"x"), ("set/more.csv", b"x")))
    with pytest.raises(UploadRefused) as told, uploads.open_upload(upload) as files:
        raise ImportProblem(files.path / "rows.csv", 3, "caption", "nothing", "a text")
    assert_names(str(told.value), "set/rows.csv", "line 3", "caption", "nothing")


@pytest.mark.parametrize("names", [("a", "a/b.txt"), ("a/b.txt", "a")])
def test_a_file_where_a_folder_should_be_is_refused(names: tuple[str, str], tmp_path: Path) -> None:
    archive = packed(*((name, b"1") for name in names))
    with pytest.raises(UploadRefused, match="two files named"):
        uploads.unpack_archive(io.BytesIO(archive), tmp_path, name="set.zip")


def test_a_name_that_no_folder_takes_is_passed_over() -> None:
    with uploads.open_upload(keep("set.zip", packed((zipfile.ZipInfo("."), b"1"), ("a.csv", b"2")))) as files:
        assert files.path.name == "a.csv"


def test_an_archive_damaged_anywhere_is_read_or_refused_by_name(tmp_path: Path) -> None:
    whole = packed(("a.csv", b"image,caption\n" * 200))
    refused = 0
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        target = tmp_path / str(place)
        target.mkdir()
        try:
            uploads.unpack_archive(io.BytesIO(damaged), target, name="set.zip")
        except UploadRefused:
            refused += 1
    assert refused > len(whole) / 2


@pytest.mark.django_db
def test_an_upload_that_no_job_waits_for_is_gone_after_a_day(data_folder: Path) -> None:
    kept, left, fresh = (keep("rows.csv", b"image,caption\n") for _ in range(3))
    enqueue(kind="import_dataset", args={"upload": kept, "format": "csv", "name": "toy"})
    a_day_ago = time.time() - 25 * 3600
    for name in (kept, left):
        for path in (data_folder / "uploads" / name, *(data_folder / "uploads" / name).rglob("*")):
            os.utime(path, (a_day_ago, a_day_ago))
    assert uploads.discard_leftovers() == [left]
    assert {path.name for path in (data_folder / "uploads").iterdir()} == {kept, fresh}


@pytest.mark.django_db
class TestQuota:
    """What one account may leave lying about."""

    @pytest.fixture
    def account(self) -> Iterator[User]:
        user = User.objects.create_user("ada")
        with acting_as(lambda: user):
            yield user

    def there(self, data_folder: Path) -> set[str]:
        return {path.name for path in (data_folder / "uploads").iterdir()}

    def test_the_oldest_that_was_not_confirmed_gives_way(
        self, account: User, settings: Any, data_folder: Path
    ) -> None:
        settings.UPLOADS_MB = 1
        with acting_as(lambda: User.objects.create_user("grace")):
            theirs = keep("rows.csv", bytes(900_000))
        confirmed = keep("rows.csv", bytes(400_000))
        enqueue(kind="import_dataset", args={"upload": confirmed, "format": "csv", "name": "toy"})
        first, second = keep("rows.csv", bytes(300_000)), keep("rows.csv", bytes(200_000))
        a_minute_ago = time.time() - 60
        os.utime(data_folder / "uploads" / first, (a_minute_ago, a_minute_ago))
        assert self.there(data_folder) == {theirs, confirmed, first, second}
        third = keep("rows.csv", bytes(300_000))
        assert self.there(data_folder) == {theirs, confirmed, second, third}

    def test_what_does_not_fit_beside_waiting_jobs_is_refused(
        self, account: User, settings: Any, data_folder: Path
    ) -> None:
        settings.UPLOADS_MB = 1
        confirmed = keep("rows.csv", bytes(400_000))
        enqueue(kind="import_dataset", args={"upload": confirmed, "format": "csv", "name": "toy"})
        other = keep("rows.csv", bytes(400_000))
        with refuses(UploadRefused, "imported", "1"):
            keep("rows.csv", bytes(700_000))
        assert self.there(data_folder) == {confirmed, other}

    def test_many_small_ones_give_way_too(self, account: User, data_folder: Path) -> None:
        for _ in range(uploads.MAX_UNCONFIRMED_UPLOADS + 5):
            last = keep("rows.csv", b"x")
        assert len(self.there(data_folder)) == uploads.MAX_UNCONFIRMED_UPLOADS
        assert last in self.there(data_folder)

    def test_pages_that_look_before_they_import_keep_to_it(
        self, designer: Client, settings: Any, data_folder: Path
    ) -> None:
        settings.UPLOADS_MB = 0
        file = SimpleUploadedFile("captions.csv", b"image,caption\na.jpg,A dog runs .\n")
        shown = designer.post(reverse("admin:judgments_dataset_add"), {"files": file})
        assert "0 MB" in words(shown)
        assert self.there(data_folder) == set()


def test_an_upload_for_which_the_disk_is_too_small_leaves_nothing(data_folder: Path) -> None:
    (data_folder / "uploads").mkdir()
    with pytest.raises(OSError, match="File too large"), longest_file(1000):
        keep("rows.csv", bytes(2000))
    assert list((data_folder / "uploads").iterdir()) == []
