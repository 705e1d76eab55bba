"""Code shared by all apps; it imports none of them."""

import os

# Work is divided among processes. Threads of numpy's linear algebra would take each other's cores, and the last digits
# of its sums would depend on their number. This is read when numpy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Arrow's own allocator reserves 1 GiB at once, which counts towards a process's limit of memory for data.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
