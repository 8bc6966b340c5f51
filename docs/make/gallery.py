"""The pictures of docs/gallery.md, made by the lines that stand there. Takes some seconds.

Usage: python docs/make/gallery.py FOLDER
"""

import os
import re
import sys
import tempfile
from pathlib import Path

PAGE = Path(__file__).parent.parent / "gallery.md"


def main(folder: Path) -> None:
    names: dict[str, object] = {}
    folder = folder.resolve()
    with tempfile.TemporaryDirectory() as here:
        os.chdir(here)
        for block in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
            exec(compile(block, PAGE.name, "exec"), names)
        for picture in sorted(Path(here).glob("gallery-*.png")):
            print((folder / picture.name).write_bytes(picture.read_bytes()), picture.name)
        os.chdir(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
