import os
from pathlib import Path

# Compiled code of tests is kept here, not in the home of whoever runs them; `make clean` removes it.
os.environ.setdefault("MATCHBANDIT_CACHE", str(Path(__file__).parent.parent / ".numba_cache"))
