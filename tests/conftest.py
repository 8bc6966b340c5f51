import os
from pathlib import Path

# Tests run side by side: a matrix product that takes all cores for itself makes the others wait, and gains nothing.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Compiled code of tests is kept here, not in the home of whoever runs them; `make clean` removes it.
os.environ.setdefault("MATCHBANDIT_CACHE", str(Path(__file__).parent.parent / ".numba_cache"))
