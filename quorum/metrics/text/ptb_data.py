"""The characters that Stanford's PTBTokenizer regards as letters and digits, and the abbreviations in its lists."""

from importlib import resources


def _read_sections(file: str) -> dict[str, list[str]]:
    """Return the words of each section of a data file, by its name. A word that ends in a colon begins a section."""
    text = resources.files("quorum.metrics").joinpath("data", file).read_text("ascii")
    sections: dict[str, list[str]] = {}
    for word in text.split():
        if word.endswith(":"):
            section_words = sections.setdefault(word[:-1], [])
        else:
            section_words.append(word)
    return sections


def _character_class(entries: list[str]) -> str:
    """Return the inside of a regular expression's character class, such as "ªÀ-Ö" for ["00aa", "00c0-00d6"]."""
    return "".join("-".join(chr(int(bound, 16)) for bound in entry.split("-")) for entry in entries)


# Characters outside ASCII that PTBTokenizer regards as letters, digits or symbols.
NON_ASCII_CLASSES = {
    name: _character_class(entries) for name, entries in _read_sections("ptb_characters.txt").items()
}

# Lists by name. "any-case", "capitalised" (or in capitals), "not-all-capitals": abbreviations that keep their full stop
# if written so. "before-numbers": those that keep it only before a number. "titles": those of the first three lists
# that cannot end a sentence. "starters": words that start one. If a capital follows, PTBTokenizer adds a second full
# stop after an abbreviation, but not after a title, and after initials only if a starter follows.
ABBREVIATIONS = _read_sections("ptb_abbreviations.txt")

TITLES = frozenset(f"{word}." for word in ABBREVIATIONS["titles"])
