"""Result files of Amazon Mechanical Turk: the requester pages' CSV and the older tab-separated ``.results``.

Pure, as all of ``judgments.importers``. What is read was seen in public files and the programs that read them;
docs/crowds/batch-files.md names the variants.
"""

from judgments.importers.mturk.results import ResultRow, read_results
from judgments.importers.mturk.writing import Result, result_cells, result_header, result_of

__all__ = ["Result", "ResultRow", "read_results", "result_cells", "result_header", "result_of"]
