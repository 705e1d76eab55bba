"""An example that compiles the kernel of tag ranks (`evaluation.compiled`)."""

from evaluation.ranking_systems.texts import TagRank


def compile_kernels() -> None:
    TagRank.of([[["dog", "runs"]], [["cat", "sleeps"]]])
