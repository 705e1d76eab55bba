"""The examples that statistics are compiled with."""

from evaluation.statistics.compiling import compile_kernels


def test_the_examples_of_the_statistics_are_accepted_by_them() -> None:
    compile_kernels()
