"""Read protocol packs, each of which runs a paper's experiment again.

A pack is a folder with the published numbers (`pack.toml`), and with code that computes Quorum's values (`pack.py`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from common.errors import QuorumError, did_you_mean
from judgments.importers import DATASET_FORMATS

SHIPPED_FOLDER = Path(__file__).parent / "shipped"
PACK_FILE, MODULE_FILE = "pack.toml", "pack.py"
PER_CENT = "%"

UsedJudgments = Literal["published", "rehearsal"]  # published with the paper, or simulated by a rehearsal


class ReplicationError(QuorumError):
    """Raised if a protocol pack cannot be read, or its data are missing."""

    title = "The pack cannot be run"


class PackTable(BaseModel):
    """Base class of the tables of pack.toml, in which unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class PackData(PackTable):
    """The files of one data set that a pack reads.

    Attributes:
        what: what the files are, for messages.
        source: where the files were published.
        path: their folder in the data folder; by default the name of the data set.
        format: the name of the import format by which the pack reads them, or "". A feature that is off may provide it.
        use: how the pack uses them.
        optional: whether the pack runs without them. Numbers that need them are then not reproducible.
    """

    what: str
    source: str
    files: tuple[str, ...] = Field(min_length=1)
    path: str = ""
    format: str = ""
    use: str = ""
    optional: bool = False

    @property
    def has_known_format(self) -> bool:
        return not self.format or self.format in DATASET_FORMATS


class PublishedNumber(PackTable):
    """A published number: a table ``[[number]]`` of pack.toml.

    Attributes:
        what: what the number is, for the report.
        value: the number as printed; Quorum's value is rounded to its decimals.
        unit: "%" if Quorum's value is a fraction that is printed as per cent; "x100" for a coefficient that is
            printed times 100.
        place: where in the paper it is printed.
        convention: the choices with which Quorum's value is computed, where the paper leaves some open.
        data: the name of the optional data set without which the number cannot be computed, or "".
        drawn: what is drawn again, at random or from other data; only then does Quorum's value have an interval or
            a range.
        missing: why the number is not reproducible, or "" if it is.
    """

    id: str
    value: Decimal | int
    what: str
    place: str
    unit: Literal["", "%", "x100"] = ""
    convention: str = ""
    data: str = ""
    drawn: str = ""
    missing: str = ""

    @property
    def scale(self) -> int:
        return 100 if self.unit else 1


class PackContents(PackTable):
    """The content of pack.toml.

    Attributes:
        paper: reference of the paper.
        design: how the paper's data were judged.
        data: the data sets by name: the tables ``[data.NAME]``.
        number: the published numbers: the tables ``[[number]]``.
        judgments: whether the pack uses published judgments or simulates them.
    """

    title: str
    paper: str
    design: str
    data: Mapping[str, PackData]
    number: tuple[PublishedNumber, ...] = Field(min_length=1)
    judgments: UsedJudgments = "published"
    seed: int = 0

    @model_validator(mode="before")
    @classmethod
    def _fill_numbers(cls, toml_tables: dict[str, Any]) -> dict[str, Any]:
        """Complete each number with the fields of the table ``[every-number]``, which all numbers share."""
        shared_fields = toml_tables.pop("every-number", {})
        try:
            numbers = [shared_fields | own_fields for own_fields in toml_tables.get("number", ())]
            return toml_tables | {"number": numbers}
        except TypeError:
            raise ValueError("expected tables [[number]] and [every-number]") from None

    @model_validator(mode="after")
    def _check_numbers(self) -> PackContents:
        """Refuse ids that are not unique, and numbers that need a data set which is not an optional one."""
        number_ids: set[str] = set()
        for number in self.number:
            if number.id in number_ids:
                raise ValueError(f"number {number.id!r} stands there twice, expected every id once")
            number_ids.add(number.id)
            if number.data and not (number.data in self.data and self.data[number.data].optional):
                raise ValueError(
                    f"number {number.id!r} needs {number.data!r}, expected an optional table of data"
                )
        return self


@dataclass(frozen=True, slots=True)
class Pack:
    """A pack. It is named after its folder, with - in place of _."""

    name: str
    folder: Path
    contents: PackContents

    @property
    def numbers(self) -> tuple[PublishedNumber, ...]:
        return self.contents.number

    def find_data(self, folder: Path) -> dict[str, Path]:
        """Return the folder of each data set whose files are all there, by the name of the data set.

        Args:
            folder: the folder with the folders of all data sets.

        Raises:
            ReplicationError: a required data set is incomplete, or the format of a complete one is not available.
        """
        folders = {}
        for name, data in self.contents.data.items():
            data_folder = folder / (data.path or name)
            missing_file = next((file for file in data.files if not (data_folder / file).is_file()), None)
            if missing_file is None and data.has_known_format:
                folders[name] = data_folder
            elif missing_file is None:
                raise ReplicationError(
                    f"Pack {self.name!r} reads {data_folder} in the format {data.format!r}, expected one of "
                    f"{', '.join(DATASET_FORMATS)}; published_sets in CONTRIB_APPS has more."
                )
            elif not data.optional:
                raise ReplicationError(
                    f"Pack {self.name!r} needs the file {data_folder / missing_file}, which is not there: {data.what}, "
                    f"from {data.source}. --data names the folder that {data.path or name} lies in."
                )
        return folders


def shipped_packs() -> Iterator[Pack]:
    for path in sorted(SHIPPED_FOLDER.glob(f"*/{PACK_FILE}")):
        yield read_pack(path.parent)


def pack_named(name: str) -> Pack:
    """Return a shipped pack by its name, or the pack in a folder. Raise ReplicationError if there is none."""
    shipped_folder = SHIPPED_FOLDER / name.replace("-", "_")
    if "/" not in name and (shipped_folder / PACK_FILE).is_file():
        return read_pack(shipped_folder)
    if (Path(name) / PACK_FILE).is_file():
        return read_pack(Path(name).resolve())
    names = [path.parent.name.replace("_", "-") for path in sorted(SHIPPED_FOLDER.glob(f"*/{PACK_FILE}"))]
    raise ReplicationError(
        f"There is no pack {name!r}; expected one of {', '.join(names)}, or a folder with {PACK_FILE} and "
        f"{MODULE_FILE}.{did_you_mean(name, names)}"
    )


def read_pack(folder: Path) -> Pack:
    """Read the pack in a folder. Raise ReplicationError if its pack.toml is defective."""
    path = folder / PACK_FILE
    try:
        # Decimal numbers keep the printed digits: 64.0 is not 64.
        toml_tables = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
        return Pack(folder.name.replace("_", "-"), folder, PackContents.model_validate(toml_tables))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ReplicationError(f"{path} is no TOML file: {error}.") from None
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        location = ".".join(map(str, problem["loc"]))
        message = problem["msg"].removeprefix("Value error, ")
        raise ReplicationError(f"{path}{f', {location}' if location else ''}: {message}.") from None
