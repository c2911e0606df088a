"""``python -m docs.pictures [FOLDER]`` draws all pictures, into docs or another folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from docs.pictures import DOCS
from docs.pictures import LECTURES
from docs.pictures import draw


def main() -> None:
    """Write all pictures."""
    parser = argparse.ArgumentParser(prog="python -m docs.pictures", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=DOCS)
    folder = parser.parse_args().folder
    for lecture in LECTURES:
        (folder / f"{lecture}.svg").write_text(draw(lecture), encoding="utf-8")


if __name__ == "__main__":
    main()
