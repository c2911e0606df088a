"""For want of what a kata's tests may be skipped, by the text of their module alone.

A test needs what its marks, its class's and its module's name, and what any function or fixture of
the module needs that it uses, whatever way that goes.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from dataclasses import field


# Beside the names of backends: a skip that names none.
SKIP = "skip"
SKIPS = ("pytest.skip", "pytest.importorskip", "mark.skip", "mark.skipif")
BACKEND = "mark.backend"


def conditions_of(text: str) -> dict[str, set[str]]:
    """Return what each test of a module needs: names of backends, and `SKIP`."""
    return Module(ast.parse(text)).tests()


@dataclass
class Module:
    """The names of a module, and what stands behind them."""

    tree: ast.Module
    named: dict[str, ast.AST] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for node in self.tree.body:
            match node:
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    self.named[name] = node
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self.named[name] = value

    def tests(self) -> dict[str, set[str]]:
        """Return what each test needs."""
        everywhere = self.needs(self.named.get("pytestmark", ast.Pass()))
        for name, node in self.named.items():
            if any("autouse=True" in ast.unparse(each) for each in decorators(node)):
                everywhere |= self.needs(self.named[name])
        return {
            name: everywhere | self.needs(node)
            for name, node in self.named.items()
            if name.startswith("test") and isinstance(node, ast.FunctionDef)
        }

    def needs(self, node: ast.AST, seen: frozenset[str] = frozenset()) -> set[str]:
        """Return what a piece of the module needs, with all that it names."""
        found: set[str] = set()
        for each in ast.walk(node):
            called = ast.unparse(each.func) if isinstance(each, ast.Call) else ""
            if isinstance(each, ast.Call) and called.endswith(BACKEND):
                found.update(str(arg.value) for arg in each.args if isinstance(arg, ast.Constant))
            elif called.endswith(SKIPS):
                found.add(SKIP)
            name = each.id if isinstance(each, ast.Name) else getattr(each, "arg", None)
            if isinstance(name, str) and name in self.named and name not in seen:
                found |= self.needs(self.named[name], seen | {name})
        return found


def decorators(node: ast.AST) -> list[ast.expr]:
    """Return the decorators of a function or a class; of anything else, none."""
    return node.decorator_list if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
