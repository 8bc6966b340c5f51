import os
from hashlib import blake2b
from pathlib import Path

# numba renews its cache when the file of a compiled function changes, but not when a function in another file that it
# calls does. A cache for each state of the source cannot be stale.
_root = Path(__file__).parent.parent
_source = b"".join(path.read_bytes() for path in sorted((_root / "src").rglob("*.py")))
os.environ.setdefault("NUMBA_CACHE_DIR", str(_root / ".numba_cache" / blake2b(_source, digest_size=8).hexdigest()))
