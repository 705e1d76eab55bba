"""Kernels run wherever they are installed."""

from types import CodeType, FunctionType

from evaluation.compiled import compiled


def test_a_kernel_whose_machine_code_can_be_kept_nowhere_is_compiled_all_the_same() -> None:
    # Code that lies in no file has no folder beside it, nor one of the user's.
    code = compile("lambda number: 2 * number", "<no file>", "eval").co_consts[0]
    assert isinstance(code, CodeType)
    assert compiled(FunctionType(code, {}, "doubled"))(21) == 42
