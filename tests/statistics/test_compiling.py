"""The examples that statistics are compiled with."""

from config.compiling import compile_statistics


def test_the_examples_of_the_statistics_are_accepted_by_them() -> None:
    compile_statistics()
