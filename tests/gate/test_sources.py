"""What the rules read of a lecture's folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.gate.sources import strays


if TYPE_CHECKING:
    from pathlib import Path


def test_what_a_lecture_shares_belongs_to_it(tmp_path: Path) -> None:
    """A module that conftest imports, a folder that it reads; the same by other names does not."""
    folder = tmp_path / "katas" / "lecture01"
    texts = {
        "conftest.py": "from katas.lecture01.world import make\n",
        "world.py": 'DATA = Path(__file__).parent / "data"\n',
        "data/deep/one.txt": "",
        "lost.py": "",
        "lost/two.txt": "",
        ".meta/k01_gone/wrong.toml": "",
        ".meta/k01_gone/right/k01_gone.py": "",
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")

    gone = [".meta/k01_gone/right/k01_gone.py", ".meta/k01_gone/wrong.toml"]
    assert [*gone, "lost.py", "lost/two.txt"] == strays(folder, ())
