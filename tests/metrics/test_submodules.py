"""Modules of a package of the library are its attributes, without a further import."""

import pytest

import quorum
from quorum.metrics import keywords


def test_modules_are_attributes_of_their_package() -> None:
    assert quorum.metrics.keywords is keywords
    assert quorum.metrics.__getattr__("keywords") is keywords
    assert {"keywords", "topics", "score"} <= set(dir(quorum.metrics))
    assert {"agreement", "power"} <= set(dir(quorum.statistics))


@pytest.mark.parametrize("name", ["agreements", "__wrapped__"])
def test_another_name_is_no_attribute(name: str) -> None:
    with pytest.raises(AttributeError, match=name):
        getattr(quorum.statistics, name)
