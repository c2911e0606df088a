"""The parts of the engine, each with a digest of what decides in it and in what is behind it.

A name of plugins/kit.py and a fixture that a kata's test may take are followed from statement to
statement, through the modules of plugins/; so a function that nothing of a part calls is none of
it. The simulator of CUDA is one text, and a part for each fault that it can find. Of the gate
there are the mutators of each language, and the rest that decides. Hooks of pytest are followed
as one part, since what they decide is every kata's.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from dataclasses import field
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING

from tests.gate.cxxsyntax import cxx_syntax_of
from tests.gate.engine import DECIDES
from tests.gate.engine import HOME
from tests.gate.engine import engine_files
from tests.gate.shared import CXX
from tests.gate.syntax import deciding
from tests.gate.syntax import deciding_of_node
from tests.gate.uses import EVERYTHING
from tests.gate.uses import statements


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator
    from pathlib import Path

    # A module by its dotted name, and what it has of that name: ``*`` is all.
    Name = tuple[str, str]
    Statements = dict[str, list[ast.stmt]]


KIT = "plugins.kit"
# What a fault says first: `headline("race")`.
FAULT = re.compile(r'headline\("([^"]+)"')
MUTATORS = {
    "the gate: mutants of Python": ("pyedits", "pymutants", "pyoperators"),
    "the gate: mutants of C++": ("cxxmutants",),
}
RUNNER = "the gate: what runs and judges"
HOOKS = "hooks of pytest"
# Where a module of ours lies decides nothing: what it is imported from, and what it is called by.
IMPORT = re.compile(r"ImportFrom\(module='(?:plugins|tests)\b[^']*',names=\[[^]]*\]level=0,\)")
DOTTED = re.compile(r"'plugins(?:\.\w+)*\.(\w+)'")


@dataclass(frozen=True)
class Part:
    """A part of the engine, and the digest of what decides in it."""

    name: str
    digest: str
    # How an exception comes through it: plugins.checks.aftermath.freed.
    roots: tuple[str, ...] = field(default=(), compare=False)

    @property
    def is_named(self) -> bool:
        """Whether a test of a kata calls it by a name."""
        return self.name.startswith(("kit: ", "fixture: "))

    @property
    def is_gate(self) -> bool:
        """Whether it is a part of the gate, which whole proofs answer for."""
        return self.name.startswith("the gate: ")

    @property
    def is_fault(self) -> bool:
        """Whether it is what finds a fault of a kernel."""
        return self.name.startswith("the simulator: ")

    @property
    def kind(self) -> str:
        """What may reject by itself: a "function" of the kit, or a "fault"; of others empty."""
        function = self.name.startswith("kit: ") and self.name[5:].islower()
        return "fault" if self.is_fault else "function" if function else ""


def parts_of(root: Path = HOME) -> dict[str, Part]:
    """Return the parts of the engine by their names."""
    modules = Modules(root)
    found = []
    for name in modules.kit():
        ((module, _),) = modules.meaning(KIT, name)[1] or [(KIT, name)]
        digest = _digest(modules.behind([(KIT, name)]).values())
        found.append(Part(f"kit: {name}", digest, (f"{module}.{name}",)))
    kit = {part.name.removeprefix("kit: "): part.roots for part in found}
    for module, node in modules.functions:
        if _is_fixture(node):
            digest = _digest(modules.behind([(module, node.name)]).values())
            # What it returns rejects, and it does not itself.
            roots = kit.get(ast.unparse(node.returns) if node.returns else "", ())
            found.append(Part(f"fixture: {node.name}", digest, roots))
    hooks = [(module, node.name) for module, node in modules.functions if _is_hook(node)]
    texts = [_text(root / name) for name in ("conftest.py", "katas/__init__.py")]
    found.append(Part(HOOKS, _digest([*modules.behind(hooks).values(), *texts])))
    found += _simulator(root, modules)
    for name, stems in {**MUTATORS, RUNNER: _rest()}.items():
        found.append(Part(name, _digest(_text(root / f"tests/gate/{stem}.py") for stem in stems)))
    return {part.name: part for part in found}


def _simulator(root: Path, modules: Modules) -> Iterator[Part]:
    """Yield a part for each fault that the simulator finds; their digest is one.

    What makes C++ of a kernel is in it: builds find that by a name in a string.
    """
    paths = [path for path in (root / "plugins").glob("*/csrc/*") if path.suffix in CXX]
    sources = [path.read_text(encoding="utf-8") for path in paths]
    rewriting = modules.behind([("plugins.cuda.language", "CUDA")])
    digest = _digest([*map(cxx_syntax_of, sources), *rewriting.values()])
    for fault in sorted({fault for source in sources for fault in FAULT.findall(source)}):
        name = f"the simulator: {fault}"
        yield Part(name, digest, (name,))


def _rest() -> list[str]:
    mutators = {stem for stems in MUTATORS.values() for stem in stems}
    return [stem for stem in DECIDES if stem not in mutators]


def _digest(texts: Iterable[str]) -> str:
    """Return the beginning of the digest of texts, wherever they are and however often."""
    moved = {DOTTED.sub(r"'\1'", IMPORT.sub("", text)) for text in texts}
    return sha256("\n".join(sorted(moved - {""})).encode()).hexdigest()[:12]


def _text(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    return deciding(text) if path.suffix == ".py" else cxx_syntax_of(text)


@dataclass
class Modules:
    """The modules of plugins/ that are the engine's, read once each."""

    root: Path
    read: dict[str, Statements] = field(default_factory=dict)
    meanings: dict[Name, tuple[str, list[Name]]] = field(default_factory=dict)

    def statements(self, module: str) -> Statements:
        """Return the statements of a module by the names that they bring in when it runs."""
        if module not in self.read:
            path = self.root.joinpath(*module.split("."))
            file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
            tree = ast.parse(file.read_text(encoding="utf-8") if file.is_file() else "")
            tree.body = [node for node in tree.body if not _is_for_types(node)]
            self.read[module] = statements(tree)
        return self.read[module]

    def kit(self) -> list[str]:
        """Return the names that the kit has for katas."""
        (node,) = self.statements(KIT)["__all__"]
        assert isinstance(node, ast.Assign)
        return sorted(ast.literal_eval(node.value))

    @cached_property
    def functions(self) -> list[tuple[str, ast.FunctionDef]]:
        """The functions of all modules, each with the name of its module."""
        paths = [path.relative_to(self.root) for path in engine_files(self.root)]
        modules = [
            ".".join(path.with_suffix("").parts).removesuffix(".__init__")
            for path in paths
            if path.suffix == ".py" and path.parts[0] == "plugins"
        ]
        return [
            (module, node)
            for module in modules
            for nodes in self.statements(module).values()
            for node in nodes
            if isinstance(node, ast.FunctionDef)
        ]

    @cached_property
    def called(self) -> dict[str, list[Name]]:
        """Who is called by a name alone: hooks of pytest, and fixtures by their parameters."""
        found: dict[str, list[Name]] = {}
        for module, node in self.functions:
            if _is_hook(node) or _is_fixture(node):
                found.setdefault(node.name, []).append((module, node.name))
        return found

    def behind(self, starts: Iterable[Name]) -> dict[Name, str]:
        """Return what these names mean, and what that mentions in turn: the text of each."""
        found: dict[Name, str] = {}
        left = list(starts)
        while left:
            module, name = left.pop()
            # The package is imported first.
            left += [(module.rpartition(".")[0], "")] if "." in module else []
            # What brings in no name runs with the module.
            for each in [*self.statements(module)] if name == EVERYTHING else [name, ""]:
                if (module, each) not in found:
                    found[module, each], more = self.meaning(module, each)
                    left += more
        return found

    def meaning(self, module: str, name: str) -> tuple[str, list[Name]]:
        """Return the text of a name in a module, none if it is imported, and what it mentions."""
        if (module, name) not in self.meanings:
            nodes = self.statements(module).get(name, [])
            own = [node for node in nodes if not _is_ours(node)]
            mentioned = {each for node in nodes for each in self.mentioned(module, node)}
            files = [text for node in own for text in self.files(module, node)]
            text = "\n".join([deciding_of_node(own), *files]) if own else ""
            self.meanings[module, name] = text, sorted(mentioned)
        return self.meanings[module, name]

    def mentioned(self, module: str, node: ast.stmt) -> Iterator[Name]:
        """Yield the names that a statement mentions."""
        known = self.statements(module)
        for part in ast.walk(node):
            if isinstance(part, ast.Name):
                if part.id in known and not isinstance(part.ctx, ast.Store):
                    yield module, part.id
            elif isinstance(part, ast.ImportFrom) and _is_ours(part):
                for alias in part.names:
                    whole = f"{part.module}.{alias.name}"
                    inside = self.root.joinpath(*whole.split("."))
                    if inside.is_dir() or inside.with_suffix(".py").is_file():
                        yield whole, EVERYTHING
                    else:
                        yield part.module or "", alias.name
            elif isinstance(part, ast.Attribute) and part.attr.startswith("pytest_"):
                yield from self.called.get(part.attr, ())
        if isinstance(node, ast.FunctionDef) and _is_fixture(node):
            for parameter in node.args.args:
                yield from self.called.get(parameter.arg, ())

    def files(self, module: str, node: ast.stmt) -> Iterator[str]:
        """Yield the text of the sources in C++ beside the module that a statement names."""
        folder = self.root.joinpath(*module.split(".")[:-1])
        for part in ast.walk(node):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                file = folder / part.value
                if file.suffix in CXX and file.is_file():
                    yield _text(file)


def _is_for_types(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _is_ours(node: ast.stmt) -> bool:
    """Whether it imports from plugins/, where the text of a name is and not how it is reached."""
    return isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith("plugins.")


def _is_fixture(node: ast.FunctionDef) -> bool:
    return any("fixture" in ast.unparse(each) for each in node.decorator_list)


def _is_hook(node: ast.FunctionDef) -> bool:
    return node.name.startswith("pytest_")
