"""Code that all apps share. It imports none of the apps."""

import os

# Work is divided among processes. Threads of numpy's linear algebra would compete for the same cores, and the last
# digits of sums would depend on the number of threads. numpy reads this variable when it is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Arrow's own allocator reserves 1 GiB at once, which counts towards the memory limit of a process.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
