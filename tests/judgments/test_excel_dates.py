"""Dates and times of workbooks are read as Excel shows them."""

import zipfile
from pathlib import Path

import pytest

from common.incoming.excel_dates import shown_date
from judgments.importers.notes import ImportNotes
from judgments.importers.records.columns import Columns
from judgments.importers.tables.files import read_workbook

SPACE = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
STYLES = (
    f'<styleSheet {SPACE}><numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/>'
    '<numFmt numFmtId="165" formatCode="0.00&quot; days&quot;"/></numFmts><cellStyleXfs><xf numFmtId="14"/>'
    '</cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/>'
    "</cellXfs></styleSheet>"
)


# What Excel shows for 45292 (1 January 2024, a Monday), and for times of that day.
@pytest.mark.parametrize(
    ("number", "code", "shown"),
    [
        pytest.param("45292", "m/d/yyyy", "1/1/2024", id="date"),
        pytest.param("45292", "dddd, d mmmm yyyy", "Monday, 1 January 2024", id="long date"),
        pytest.param("45292", "d-mmm-yy", "1-Jan-24", id="short date"),
        pytest.param("45292.75", "m/d/yyyy h:mm", "1/1/2024 18:00", id="date and time"),
        pytest.param("0.520833333333333", "h:mm AM/PM", "12:30 PM", id="noon"),
        pytest.param("0.0208333333333333", "h:mm AM/PM", "12:30 AM", id="midnight"),
        pytest.param("0.000127314814814815", "mm:ss", "00:11", id="minutes and seconds"),
        pytest.param("1.5", "[h]:mm:ss", "36:00:00", id="more than a day"),
        pytest.param("0.00001446759", "mm:ss.00", "00:01.25", id="parts of a second"),
        pytest.param("0.000694", "mm:ss.0", "01:00.0", id="parts of a second round up"),
        pytest.param("2958465", "m/d/yyyy", "12/31/9999", id="the last day"),
        pytest.param("2958465.999999", "m/d/yyyy", "2958465.999999", id="rounded up to the year 10000"),
        pytest.param("inf", "yyyy-mm-dd", "inf", id="infinite"),
        pytest.param("nan", "yyyy-mm-dd", "nan", id="not a number"),
        pytest.param("45292.75", '[$-409]yyyy"-"mm"-"dd"T"hh:mm;@', "2024-01-01T18:00", id="letters"),
        pytest.param("36526", "yyyy-mm-dd", "2000-01-01", id="2000"),
        pytest.param("1", "yyyy-mm-dd", "1900-01-01", id="the first day"),
        pytest.param("-3", "yyyy-mm-dd", "-3", id="no date"),
        pytest.param("n/a", "yyyy-mm-dd", "n/a", id="no number"),
    ],
)
def test_a_number_is_written_as_its_format_shows_it(number: str, code: str, shown: str) -> None:
    assert shown_date(number, code) == shown


@pytest.mark.parametrize(
    ("base", "day"),
    [
        pytest.param("", "1/1/2024", id="since 1900"),
        pytest.param('date1904="1"', "1/2/2028", id="since 1904"),
    ],
)
def test_cells_of_dates_are_told_from_numbers_by_their_style(tmp_path: Path, base: str, day: str) -> None:
    path = tmp_path / "dates.xlsx"
    header = "".join(
        f'<c t="inlineStr"><is><t>{name}</t></is></c>' for name in ("day", "moment", "plain", "days")
    )
    cells = '<c s="1"><v>45292</v></c><c s="2"><v>45292.75</v></c><c><v>45292</v></c><c s="3"><v>2</v></c>'
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "xl/worksheets/sheet1.xml",
            f"<worksheet {SPACE}><sheetData><row>{header}</row><row>{cells}</row></sheetData></worksheet>",
        )
        archive.writestr("xl/styles.xml", STYLES)
        archive.writestr("xl/workbook.xml", f"<workbook {SPACE}><workbookPr {base}/></workbook>")
    (record,) = read_workbook(path, Columns((), lenient=True), ImportNotes(), None)
    assert (record.values["day"], record.values["plain"], record.values["days"]) == (day, "45292", "2")
    assert record.values["moment"].endswith("18:00:00")
