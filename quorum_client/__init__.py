"""A small client of Quorum's HTTP interface: studies, their rows as pandas DataFrames, and operations on studies.

    >>> quorum = Quorum("http://127.0.0.1:8000", token="quorum_...")
    >>> frame = quorum.study("demo-triplet").frame("judgments")

It needs ``httpx`` and ``pandas``, but no other part of Quorum.
"""

try:
    from quorum_client.studies import Handle, JobFailed, MoneyStep, Problem, Quorum
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"quorum_client needs the package {error.name}, which is not installed here: pip install httpx pandas",
        name=error.name,
    ) from None

__all__ = ["Handle", "JobFailed", "MoneyStep", "Problem", "Quorum"]
