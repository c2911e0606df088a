"""Tracing bytecode: how TorchDynamo gets a graph out of Python that it does not run.

Nothing in ``def f(x, n): ...`` is called here. You read the bytecode of a function and do what the
interpreter would do, on a stack of your own, on which a tensor is a *variable tracker*: a node of
an FX graph, with a fake tensor that knows shape and dtype but has no data. What Python computes
with numbers, tuples and lists is computed now, once, and does not appear in the graph; so the
graph holds only for inputs that pass its *guards*. Where the next step depends on a tensor's data,
or has effects outside, tracing ends: a *graph break* (here, an error).

Write ``capture(function, *args) -> Captured``: ``graph``, a ``GraphModule`` with a placeholder for
each tensor among the arguments, in order, with the parameter's name, which returns what the
function returns; and ``guards``, a dict. `function` is a Python function; `args`, bound to its
parameters as by a call (defaults too), are tensors and constants: bool, int, float, string, None.
It calls neither `function` nor any operator on the tensors' data, and changes no argument.

``instructions(function)`` is given. It decodes CPython 3.11 to 3.14 into few instructions, each
with its source line. Below are ``op`` and ``arg``, where two things are a pair. Execution begins at
0 and goes on with the next one unless told otherwise:

=================  =============================================================================
``const v``        push the constant
``local name``     push a local variable; ``store name`` pops into one
``global name``    push a global of this function, or else a builtin (``builtins``)
``attr name``      pop an object, push its attribute; a method pushes one thing, bound
``operator f, n``  pop n operands, push ``f(*operands)``; what was pushed first comes first
``build c, n``     pop n items, push a tuple, a list or a ``slice(*items)``
``unpack n``       pop a sequence of n items (else a ``ValueError``, as in Python), push the last
                   first, so that the first is on top
``call n, names``  pop n arguments, of which the last ``len(names)`` go by keyword, then the
                   callable; push what it returns
``pop``            drop the top; ``copy n`` pushes the n-th from the top again (1 is the top),
                   ``swap n`` exchanges the top with the n-th
``iter``           pop an iterable, push its iterator
``next i``         push the next item of the iterator on top, which stays; or, if there is
                   none, pop the iterator and jump to instruction i
``jump i``         go on at i; ``branch flag, i`` pops, and jumps if the truth is `flag`
``return``         pop the result
``unknown what``   a graph break
=================  =============================================================================

What touches a tensor (`TensorVariable`, given) is *recorded*: it is called on the fake tensors,
under one ``FakeTensorMode`` (``torch._subclasses.fake_tensor``; ``from_tensor`` makes a fake).
If no tensor comes out, the value found (a shape, a number) is pushed and there is no node; else
there is a node, and a new tracker is pushed.

- ``operator``: recorded as ``call_function`` if one of the operands is itself a tensor, else done
  in Python. A slice or a list that holds a tensor is no tensor.
- ``attr`` of a tensor: a value such as ``shape`` is pushed; a tensor (``x.T``) is recorded as a
  ``call_function`` of ``getattr``; a method waits for its call, recorded as ``call_method``. Of
  anything else, Python's ``getattr``.
- ``call`` of what ``is_torch`` (given) accepts: recorded as ``call_function``, also without any
  tensor among the arguments (``torch.zeros(3)`` makes one). Tensors may be in lists and tuples. Of
  one of `PURE`, or a method whose ``__self__`` is of `PURE_OWNERS` (both given): called now, with
  the arguments as they are. Of a Python function: inlined, by its own bytecode, globals and
  defaults; its nodes come into the same graph. Of anything else (``print``): a graph break.
- A tuple or list of tensors that an operator returns (``x.split(2)``) becomes a tuple of tensors,
  one ``operator.getitem`` node each, made at once.
- A graph break, raised as ``GraphBreak(reason, line)`` with the line of the innermost instruction:
  a ``branch`` on a tensor, ``iter`` or ``unpack`` of one, ``len`` or any other of `PURE` of one, an
  unknown instruction or callable, a global that is neither a constant, a module, a class nor a
  callable, and a recorded call that raises ``RuntimeError`` on fake tensors (``.item()`` does, for
  one). Other errors pass through.

``guards`` has the key ``"input x"`` for each parameter: for a tensor ``(dtype, shape, device)``,
the shape as a tuple, for a constant ``(type, value)``; and ``"global MODULE.NAME"`` for each global
that was pushed (no builtins), MODULE being the ``__module__`` of the function that reads it: for a
constant ``(type, value)``, else the object itself. An instruction that is not executed is in no
guard; functions that are inlined add theirs.

Out of scope: calls with ``*``, comprehensions, dicts, closures and inner functions, exceptions,
writes to attributes and items (all unknown instructions), sizes as variables, going on after a
graph break, names that are nowhere. About 150 lines, in small methods. Do not use
``torch.compile``, ``torch._dynamo``, ``torch.export`` or the tracers and proxies of ``fx``.

In PyTorch: ``torch/_dynamo/symbolic_convert.py`` (``InstructionTranslatorBase``),
``torch/_dynamo/variables/tensor.py`` (``TensorVariable``). Python's documentation of ``dis`` has
the opcodes.
"""

from __future__ import annotations

import dis
import operator
import sys
from dataclasses import dataclass
from types import NoneType
from typing import TYPE_CHECKING
from typing import Any
from typing import NamedTuple

import torch  # noqa: TC002 - your answer calls it
from torch import fx  # noqa: TC002


if TYPE_CHECKING:
    from collections.abc import Callable


class GraphBreak(Exception):  # noqa: N818 - given; it is what Dynamo calls it
    """Given: why tracing ends, and at which line of which file's source."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line


class Captured(NamedTuple):
    """Given: what one trace found."""

    graph: fx.GraphModule
    guards: dict[str, Any]


@dataclass(frozen=True, eq=False)
class TensorVariable:
    """Given: what stands on the stack for a tensor: its node, and a fake tensor."""

    node: fx.Node
    fake: torch.Tensor


class Instruction(NamedTuple):
    """Given: one instruction; `arg` is described in the brief."""

    op: str
    arg: Any
    line: int


# Given: what a guard compares by class and value.
CONSTANTS = (bool, int, float, str, NoneType)
# Given: what may run at trace time, since it depends on its arguments alone and changes nothing.
PURE: tuple[Any, ...] = (len, range, enumerate, zip, list, tuple)
PURE_OWNERS = (list, tuple, str)  # and the methods of such objects


def is_torch(function: Any) -> bool:
    """Given: whether a call of `function` belongs into a graph, as it is."""
    home = getattr(function, "__module__", None) or ""
    return not isinstance(function, type) and home.partition(".")[0] in {"torch", "_operator"}


# Given, from here to `instructions`: CPython's opcodes differ between its versions, these do not.
BINARY = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "@": operator.matmul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "[]": operator.getitem,
    "+=": operator.iadd,
    "-=": operator.isub,
    "*=": operator.imul,
    "/=": operator.itruediv,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
}
UNARY = {
    "UNARY_NEGATIVE": operator.neg,
    "UNARY_NOT": operator.not_,
    "UNARY_INVERT": operator.invert,
}
# What leaves the stack as it is, or pushes a NULL, which the instructions here do without.
NOTHING = {
    *("RESUME", "NOP", "CACHE", "PRECALL", "PUSH_NULL", "EXTENDED_ARG", "COPY_FREE_VARS"),
    *("TO_BOOL", "NOT_TAKEN", "END_FOR", "KW_NAMES"),
}
SAME = {
    "LOAD_GLOBAL": "global",
    "LOAD_ATTR": "attr",
    "LOAD_METHOD": "attr",
    "UNPACK_SEQUENCE": "unpack",
    "COPY": "copy",
    "SWAP": "swap",
    "FOR_ITER": "next",
    "JUMP_FORWARD": "jump",
    "JUMP_BACKWARD": "jump",
    "JUMP_BACKWARD_NO_INTERRUPT": "jump",
}
PLAIN = {"POP_TOP": "pop", "POP_ITER": "pop", "GET_ITER": "iter", "RETURN_VALUE": "return"}
BUILD = {"BUILD_TUPLE": tuple, "BUILD_LIST": list, "BUILD_SLICE": slice}


def decode(raw: dis.Instruction, names: tuple[str, ...] = ()) -> list[tuple[str, Any]]:  # noqa: C901, PLR0911, PLR0912 - a table
    """Given: return what one instruction of CPython 3.11 to 3.14 is in the small set."""
    name, value = raw.opname, raw.argval
    if name in NOTHING:
        return []
    if name in SAME:
        return [(SAME[name], value)]
    if name in PLAIN:
        return [(PLAIN[name], None)]
    if name in {"LOAD_CONST", "LOAD_SMALL_INT"}:
        return [("const", value)]
    if name == "RETURN_CONST":
        return [("const", value), ("return", None)]
    if name == "STORE_FAST_LOAD_FAST":
        return [("store", value[0]), ("local", value[1])]
    if name in {"LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW"}:
        return [("local", value)]
    if name in {"LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW"}:
        return [("local", value[0]), ("local", value[1])]
    if name in {"STORE_FAST", "STORE_FAST_STORE_FAST"}:
        return [("store", it) for it in ([value] if isinstance(value, str) else value)]
    if name in UNARY:
        return [("operator", (UNARY[name], 1))]
    if name in {"BINARY_OP", "COMPARE_OP"}:
        symbol = raw.argrepr if name == "BINARY_OP" else value
        return [("operator", (BINARY[symbol], 2))] if symbol in BINARY else [("unknown", symbol)]
    if name == "BINARY_SUBSCR":
        return [("operator", (operator.getitem, 2))]
    if name == "BINARY_SLICE":
        return [("build", (slice, 2)), ("operator", (operator.getitem, 2))]
    if name == "IS_OP":
        return [("operator", (operator.is_not if raw.arg else operator.is_, 2))]
    if name in BUILD:
        return [("build", (BUILD[name], raw.arg))]
    if name in {"CALL", "CALL_KW"}:
        return [("call", (raw.arg, names))]
    if name.startswith("POP_JUMP"):
        condition = name.rpartition("IF_")[2]
        test = operator.is_not if condition == "NOT_NONE" else operator.is_
        none = [("const", None), ("operator", (test, 2))] if "NONE" in condition else []
        return [*none, ("branch", (condition != "FALSE", value))]
    if name in {"JUMP_IF_FALSE_OR_POP", "JUMP_IF_TRUE_OR_POP"}:
        return [("copy", 1), ("branch", ("TRUE" in name, value)), ("pop", None)]
    return [("unknown", name)]


def instructions(function: Any) -> list[Instruction]:
    """Given: return what `function` does; the target of a jump is a place in this list."""
    found: list[Instruction] = []
    starts: dict[int, int] = {}
    names: tuple[str, ...] = ()
    before = ""
    for raw in dis.get_instructions(function):
        starts[raw.offset] = len(found)
        line = (raw.positions and raw.positions.lineno) or (found[-1].line if found else 0)
        if raw.opname == "KW_NAMES":  # 3.11, 3.12: the names come before the call
            names = function.__code__.co_consts[raw.arg]
        if raw.opname == "CALL_KW":  # from 3.13 they lie on the stack, a constant
            names = found.pop().arg
        # What a loop leaves on the stack is popped behind it, from 3.12 on; here `next` does.
        left = before == "END_FOR" and sys.version_info >= (3, 13)
        if not (left and raw.opname in {"POP_TOP", "POP_ITER"}):
            found += [Instruction(op, arg, line) for op, arg in decode(raw, names)]
        if raw.opname.startswith("CALL"):
            names = ()
        before = raw.opname
    return [it._replace(arg=_target(it, starts)) for it in found]


def _target(it: Instruction, starts: dict[int, int]) -> Any:
    if it.op in {"jump", "next"}:
        return starts[it.arg]
    return (it.arg[0], starts[it.arg[1]]) if it.op == "branch" else it.arg


def capture(function: Callable[..., Any], *args: Any) -> Captured:
    """Return the graph of ``function(*args)``, and the guards under which it holds."""
    # TODO: bind the arguments, run the instructions on a stack of your own, make a GraphModule.
    raise NotImplementedError("capture")
