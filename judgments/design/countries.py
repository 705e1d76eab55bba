"""Countries of residence, by their codes.

countries.csv has ISO 3166-1 codes and the names of the public-domain table iso3166.tab of the IANA time zone database;
libraries of the Unicode CLDR have other names ("Caribbean NL"). Translations in locale/ are the CLDR's.
"""

from __future__ import annotations

import csv
import unicodedata
from pathlib import Path

from django.utils.translation import gettext


def _read_countries() -> dict[str, str]:
    with Path(__file__).with_name("countries.csv").open(encoding="utf-8", newline="") as file:
        return {row["code"]: row["name"] for row in csv.DictReader(file)}


COUNTRIES = _read_countries()  # English names by code


def country_name(code: str) -> str:
    return gettext(COUNTRIES.get(code, code))


def countries_by_name() -> dict[str, str]:
    """Return the translated names by code, sorted by name without regard to diacritics."""
    names = {code: country_name(code) for code in COUNTRIES}
    sorted_codes = sorted(COUNTRIES, key=lambda code: _plain_name(names[code]))
    return {code: names[code] for code in sorted_codes}


def _plain_name(name: str) -> str:
    return "".join(
        letter
        for letter in unicodedata.normalize("NFKD", name.casefold())
        if not unicodedata.combining(letter)
    )
