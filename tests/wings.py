"""Draws the wings of plugins/ and what each imports, from the imports: ``nox -s wings``.

    python -m tests.wings

The drawing stands in CONTRIBUTING.md, between two comments; a test says when it is out of date.
An arrow that follows from others is left out: what `loop` reaches through `progress` it may import
as well.
"""

from __future__ import annotations

import re
import sys
import tomllib
from typing import TYPE_CHECKING

import grimp

from plugins import ROOT


if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Mapping


PAGE = ROOT / "CONTRIBUTING.md"
DRAWING = re.compile(r"(?<=<!-- wings -->\n).*?(?=<!-- end of wings -->)", re.DOTALL)


def read_floors() -> list[list[str]]:
    """Return the wings of each floor, from the top, as the contract of import-linter has them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (layers,) = [contract["layers"] for contract in contracts if contract["id"] == "floors"]
    # The first floor has no wings but the doors to them.
    return [[name.strip() for name in re.split("[|:]", layer)] for layer in layers[1:]]


def read_imports(wings: set[str]) -> dict[str, set[str]]:
    """Return the wings that each wing imports from."""
    graph = grimp.build_graph("plugins")
    found: dict[str, set[str]] = {wing: set() for wing in wings}
    for wing in wings:
        inside = {f"plugins.{wing}", *graph.find_descendants(f"plugins.{wing}")}
        for module in inside:
            others = graph.find_modules_directly_imported_by(module) - inside
            found[wing] |= {name.split(".")[1] for name in others if name.count(".") > 1}
    return found


def count_modules(wing: str) -> int:
    """Return how many modules a wing has; a package within it is one."""
    folder = ROOT / "plugins" / wing
    modules = [file for file in folder.glob("*.py") if file.stem != "__init__"]
    return len([*modules, *folder.glob("*/__init__.py")])


def reachable(imports: Mapping[str, set[str]], start: str) -> set[str]:
    """Return the wings that `start` reaches through at least one other."""
    found: set[str] = set()
    waiting = [*imports[start]]
    while waiting:
        for wing in imports[waiting.pop()] - found:
            found.add(wing)
            waiting.append(wing)
    return found


def draw(floors: list[list[str]], imports: Mapping[str, set[str]]) -> Iterator[str]:
    """Yield the lines of a flowchart in Mermaid, which GitHub draws."""
    yield "```mermaid"
    yield "flowchart TD"
    for number, floor in enumerate(floors, 1):
        yield f"    subgraph floor{number}[ ]"
        for wing in floor:
            yield f'        {wing}["{wing} ({count_modules(wing)})"]'
        yield "    end"
    for wing in sorted(imports):
        for other in sorted(imports[wing] - reachable(imports, wing)):
            yield f"    {wing} --> {other}"
    yield "```"


def drawing() -> str:
    """Return the drawing of the wings as they are now."""
    floors = read_floors()
    imports = read_imports({wing for floor in floors for wing in floor})
    return "\n".join(draw(floors, imports)) + "\n"


def main() -> int:
    """Put the drawing into the page."""
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(DRAWING.sub(lambda _: drawing(), text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
