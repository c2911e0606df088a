"""Reads which names a Python file uses, spelled as PyTorch spells them, and what they stand for."""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from types import CodeType
from types import FunctionType
from types import ModuleType
from typing import TYPE_CHECKING
from typing import Any
from typing import NamedTuple
from typing import cast

from plugins.tools.text import parse_python
from plugins.tools.text import unwarned


if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Iterable
    from collections.abc import Iterator


class Unchecked(ast.NodeTransformer):
    """Leaves out what only a type checker reads: annotations, and what stands under its test."""

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        """Drop the body of ``if TYPE_CHECKING:``."""
        if ast.unparse(node.test).rpartition(".")[2] == "TYPE_CHECKING":
            return [self.visit(each) for each in node.orelse]
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        """Drop the annotation of a parameter."""
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Drop the annotation of what a function returns."""
        node.returns = None
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        """Drop the same of an ``async def``."""
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Drop the annotation of a variable."""
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)


def names_in(source: str) -> set[str]:
    """Return the dotted names that a file uses, such as ``torch.fx.Graph``.

    However it was imported, assigned or looked up, a name is read as PyTorch spells it: through
    `import ... as`, `t = torch`, `getattr(torch, "fx")`, `vars(torch)["fx"]`, `torch.__dict__`,
    `attrgetter("fx.Graph")(torch)`. An attribute of anything else is ``*.name``. A `getattr` of
    torch whose name is computed is ``torch.?``.
    """
    tree = Unchecked().visit(parse_python(source))
    used, aliases = imported(tree)
    # An assignment may stand behind the one that it builds on.
    assigned = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    for _ in range(3):
        for statement in assigned:
            name = dotted(statement.value, aliases)
            for target in statement.targets:
                if isinstance(target, ast.Name) and rooted(name, aliases):
                    aliases[target.id] = name
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Name | ast.Call | ast.Subscript):
            used.add(dotted(node, aliases))
    return {name for name in used if name}


def imported(tree: ast.AST) -> tuple[set[str], dict[str, str]]:
    """Return the names that are imported, and what the file calls them if something else."""
    used: set[str] = set()
    aliases: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            home = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                used.add(home + alias.name)
                if home or alias.asname:
                    aliases[alias.asname or alias.name] = home + alias.name
    return used, aliases


def rooted(name: str, aliases: dict[str, str]) -> bool:
    """Whether a name begins in something that was imported."""
    first = name.partition(".")[0]
    return first == "torch" or any(name.startswith(each) for each in aliases.values())


def dotted(node: ast.AST, aliases: dict[str, str]) -> str:
    """Return the dotted name that an expression stands for; "" if it is none."""
    match node:
        case ast.Name(id=name):
            return aliases.get(name, name)
        case ast.Attribute(value=owner, attr="__dict__"):
            return dotted(owner, aliases)
        case ast.Attribute(value=owner, attr=name):
            return below(owner, name, aliases)
        case ast.Subscript(value=owner, slice=ast.Constant(value=str(name))):
            return below(owner, name, aliases)
        case ast.Call():
            return looked_up(node, aliases)
    return ""


def looked_up(call: ast.Call, aliases: dict[str, str]) -> str:
    """Return the name that is looked up by `vars`, `getattr` or `attrgetter`; "" for no look-up."""
    match call:
        case ast.Call(func=ast.Name(id="vars"), args=[owner]):
            return dotted(owner, aliases)
        case ast.Call(func=ast.Name(id="getattr"), args=[owner, ast.Constant(value=str(name)), *_]):
            return below(owner, name, aliases)
        case ast.Call(func=ast.Name(id="getattr"), args=[owner, _, *_]):
            return below(owner, "?", aliases)
        case ast.Call(func=ast.Call(func=get, args=[ast.Constant(value=str(name))]), args=[owner]):
            is_getter = dotted(get, aliases) in {"operator.attrgetter", "operator.methodcaller"}
            return below(owner, name, aliases) if is_getter else ""
    return ""


def below(owner: ast.AST, name: str, aliases: dict[str, str]) -> str:
    """Return the name of an attribute, ``*.name`` if its owner has none."""
    return f"{dotted(owner, aliases) or '*'}.{name}"


class Builtin(NamedTuple):
    """A function or method in C, and the given name that leads to it."""

    given: str
    function: object
    # Whether the name is its class's or its module's.
    inside: bool


def callables(
    names: Collection[str],
) -> tuple[dict[int, tuple[CodeType, str]], dict[str, list[Builtin]]]:
    """Return what is behind these names: the code of Python functions, and builtins by their names.

    Code is known by its id, as two functions are equal that are alike on the same line of two
    files; the code beside the name keeps the id. Of a class its methods count, and of a module what
    it defines. Each leads to the name that was given. A name that this torch does not have is left
    out.
    """
    codes: dict[int, tuple[CodeType, str]] = {}
    builtins: dict[str, list[Builtin]] = {}
    with unwarned():
        # Of a deprecated name each attribute warns, and even `isinstance` asks for one.
        found = [(name, resolve(name)) for name in names]
        pairs = [(name, owner, each) for name, owner in found for each in functions_of(owner)]
        for name, owner, function in pairs:
            if isinstance(function, FunctionType):
                codes[id(function.__code__)] = function.__code__, name
            elif callable(function) and not isinstance(function, type):
                called = getattr(function, "__name__", name)
                # An enum has object.__new__ among its own, which everything else calls as well.
                if not called.startswith("__"):
                    inside = isinstance(owner, type | ModuleType)
                    builtins.setdefault(called, []).append(Builtin(name, function, inside))
    return codes, builtins


def forbidden_as(called: Any, builtins: Iterable[Builtin]) -> str:
    """Return the name under which a call in C is forbidden; "" if none of these is called.

    What is given by its own name counts as a function and as a method: ``x.exp()`` is ``torch.exp``
    too. What Python has under such a name, as ``math.exp`` and ``set.add``, does not.
    """
    module, defined = origin(called)
    for given, function, inside in builtins:
        alike = is_standard(given) or not is_standard(module)
        if (defined == function) if inside else alike:
            return given
    return ""


def origin(called: Any) -> tuple[str, object]:
    """Return the module of a function or method in C, and the object that module or class has."""
    if called.__module__ is not None:
        return called.__module__, called
    owner = called.__self__ if isinstance(called.__self__, type) else type(called.__self__)
    # A subclass of dict has dict's methods; a class has those of `type`.
    made_by = next((each for each in owner.__mro__ if called.__name__ in vars(each)), type)
    return made_by.__module__, vars(made_by).get(called.__name__)


def is_standard(name: str) -> bool:
    """Whether a dotted name begins with a module of the standard library."""
    return name.partition(".")[0] in sys.stdlib_module_names


def functions_of(owner: object) -> Iterator[object]:
    """Yield what can be called of the object that a name stands for, without its decorators."""
    for found in members(owner):
        yield inspect.unwrap(cast("Any", getattr(found, "__func__", found)))


def resolve(name: str) -> object:
    """Return the object that a dotted name stands for; None if there is none."""
    first, *rest = name.split(".")
    found: object = importlib.import_module(first)
    path = first
    for part in rest:
        path = f"{path}.{part}"
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = importlib.import_module(path)
            except ImportError:
                return None
    return found


def members(found: object) -> Iterator[object]:
    """Yield what can be called of an object: itself, a class's methods, a module's functions."""
    if isinstance(found, type):
        # What `enum` has put into a class runs for every other enum too.
        yield from (
            each
            for each in vars(found).values()
            if (callable(each) or has_function(each))
            and (found.__module__ == "enum" or getattr(each, "__module__", "") != "enum")
        )
    elif isinstance(found, ModuleType):
        for each in vars(found).values():
            if getattr(each, "__module__", None) == found.__name__:
                yield from (own for own in members(each) if not public(own, found.__name__))
    elif found is not None:
        yield found


def has_function(member: object) -> bool:
    """Whether a member of a class is a class method or a static one."""
    return isinstance(member, classmethod | staticmethod)


def public(member: object, module: str) -> bool:
    """Whether something in C is used by everybody: `torch._C` has the methods of every tensor.

    They are those of `TensorBase`. A class of it has `torch.add`, which says that it is torch's.
    """
    function = getattr(member, "__func__", member)
    home = getattr(function, "__module__", None) or module
    base = getattr(getattr(function, "__objclass__", None), "__name__", "")
    return base.endswith("Base") or module.startswith(f"{home}.")
