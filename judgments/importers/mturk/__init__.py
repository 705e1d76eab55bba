"""Result files of Amazon Mechanical Turk: the requester pages' CSV and the older tab-separated
``.results``.

Pure. Variants were found in public files and the programs that read them; docs/crowds/batch-files.md
names them.
"""

from judgments.importers.mturk.judgments import ResultRow, read_results

__all__ = ["ResultRow", "read_results"]
