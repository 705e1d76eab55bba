"""The catalogue of errors' sentences, which a person reads, is that of the code."""

from difflib import unified_diff

from scripts import sentences


def test_the_catalogue_of_sentences_is_up_to_date() -> None:
    stored, now = sentences.CATALOGUE.read_text(encoding="utf-8"), sentences.catalogue()
    changes = unified_diff(
        stored.splitlines(), now.splitlines(), "tests/sentences.txt", "the code", n=2, lineterm=""
    )
    assert not list(changes), "\n".join(["run `python -m scripts.sentences`:", *changes])
