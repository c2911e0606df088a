"""Given to the kata on bytecode: decoded instructions, and a machine that executes them.

Tensors are `TensorVariable` there, and what touches one goes to a tracer's `record` method.
"""

from __future__ import annotations

import builtins
import dis
import inspect
import operator
import sys
from dataclasses import dataclass
from types import FunctionType
from types import ModuleType
from types import NoneType
from typing import TYPE_CHECKING
from typing import Any
from typing import NamedTuple
from typing import NoReturn


if TYPE_CHECKING:
    import torch
    from torch import fx


class GraphBreak(Exception):  # noqa: N818 - given; it is what Dynamo calls it
    """Why tracing ends, and at which line."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line


class Captured(NamedTuple):
    """What one trace found."""

    graph: fx.GraphModule
    guards: dict[str, Any]


@dataclass(frozen=True, eq=False)
class TensorVariable:
    """Stands for a tensor on the stack: its node, and a fake tensor."""

    node: fx.Node
    fake: torch.Tensor


class Instruction(NamedTuple):
    """One instruction: `op`, its argument `arg`, and the line in the source.

    ========  ==================  =================================================================
    op        arg                 what it does to the stack
    ========  ==================  =================================================================
    const     value               push it
    local     name                push that variable
    store     name                pop, and set that variable
    global    name                push that global, or builtin
    attr      name                pop an object, push its attribute
    operator  (function, count)   pop `count` operands, push what the function returns
    build     (type, count)       pop `count` items, push a tuple, list or slice of them
    unpack    count               pop a sequence of `count` items, push them, the first one on top
    call      (count, names)      pop `count` arguments and the function, push what it returns; the
                                  last arguments are keywords of these names
    pop       None                pop
    copy      n                   push the nth from the top once more
    swap      n                   swap the top and the nth from the top
    iter      None                pop, and push its iterator
    next      target              push the iterator's next item; at its end pop it, and jump
    jump      target              jump
    branch    (flag, target)      pop, and jump if its truth is the flag
    return    None                pop, and return it
    unknown   name                break the graph
    ========  ==================  =================================================================

    A target is an index into the list of instructions.
    """

    op: str
    arg: Any
    line: int


# What a guard compares by class and value.
CONSTANTS = (bool, int, float, str, NoneType)


# What may run at trace time: it depends only on its arguments and changes nothing.
PURE: tuple[Any, ...] = (len, range, enumerate, zip, list, tuple)


def is_torch(function: Any) -> bool:
    """Return whether a call of `function` belongs in a graph as it is."""
    home = getattr(function, "__module__", None) or ""
    return not isinstance(function, type) and home.partition(".")[0] in {"torch", "_operator"}


# CPython's opcodes differ between versions, these do not.
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
    """Translate one instruction of CPython 3.11 to 3.14 into the small set."""
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
    """Return what `function` does; the target of a jump is an index into this list."""
    found: list[Instruction] = []
    starts: dict[int, int] = {}
    names: tuple[str, ...] = ()
    before = ""
    for raw in dis.get_instructions(function):
        starts[raw.offset] = len(found)
        line = (raw.positions and raw.positions.lineno) or (found[-1].line if found else 0)
        if raw.opname == "KW_NAMES":  # 3.11, 3.12: the names come before the call
            names = function.__code__.co_consts[raw.arg]
        if raw.opname == "CALL_KW":  # from 3.13 they are on the stack, as a constant
            names = found.pop().arg
        # From 3.12 on, what a loop leaves on the stack is popped after it; here `next` does that.
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


PURE_OWNERS = (list, tuple, str)  # and the methods of such objects


def fact(value: Any) -> Any:
    """Return what a guard compares: class and value of a constant, else the object itself."""
    return (type(value), value) if isinstance(value, CONSTANTS) else value


class Method(NamedTuple):
    """A method of a tensor that waits to be called."""

    owner: TensorVariable
    name: str


class Frame:
    """One function that is being executed: its stack and its variables."""

    def __init__(self, tracer: Any, function: Any, variables: dict[str, Any]) -> None:
        self.tracer, self.function, self.variables = tracer, function, variables
        self.stack: list[Any] = []
        self.at = self.line = 0

    def run(self) -> Any:
        """Execute until something is returned."""
        code = instructions(self.function)
        while True:
            op, arg, self.line = code[self.at]
            self.at += 1
            if op == "return":
                return self.stack.pop()
            getattr(self, f"do_{op}")(arg)

    def stop(self, reason: str) -> NoReturn:
        """Break the graph at this line."""
        raise GraphBreak(reason, self.line)

    def pop(self, count: int) -> list[Any]:
        """Take several values from the stack; what was pushed first comes first."""
        found = [self.stack.pop() for _ in range(count)]
        return found[::-1]

    def value(self) -> Any:
        """Pop a value that Python must look into; break the graph if it is a tensor."""
        top = self.stack.pop()
        return self.stop("the data of a tensor") if isinstance(top, TensorVariable) else top

    def do_const(self, value: Any) -> None:
        """Execute ``const``."""
        self.stack.append(value)

    def do_local(self, name: str) -> None:
        """Execute ``local``."""
        self.stack.append(self.variables[name])

    def do_store(self, name: str) -> None:
        """Execute ``store``."""
        self.variables[name] = self.stack.pop()

    def do_global(self, name: str) -> None:
        """Execute ``global``."""
        if name not in self.function.__globals__:
            return self.stack.append(vars(builtins)[name])
        value = self.function.__globals__[name]
        if not (isinstance(value, (*CONSTANTS, ModuleType)) or callable(value)):
            self.stop(f"global {name} of {type(value)}")
        self.tracer.guards[f"global {self.function.__module__}.{name}"] = fact(value)
        return self.stack.append(value)

    def do_attr(self, name: str) -> None:
        """Execute ``attr``."""
        owner = self.stack.pop()
        if not isinstance(owner, TensorVariable):
            self.stack.append(getattr(owner, name))
        elif callable(getattr(owner.fake, name)):
            self.stack.append(Method(owner, name))
        else:
            self.record("call_function", getattr, (owner, name), {})

    def do_operator(self, arg: tuple[Any, int]) -> None:
        """Execute ``operator``."""
        function, count = arg
        operands = self.pop(count)
        if any(isinstance(it, TensorVariable) for it in operands):
            self.record("call_function", function, tuple(operands), {})
        else:
            self.stack.append(function(*operands))

    def do_build(self, arg: tuple[Any, int]) -> None:
        """Execute ``build``."""
        kind, count = arg
        items = self.pop(count)
        self.stack.append(slice(*items) if kind is slice else kind(items))

    def do_unpack(self, count: int) -> None:
        """Execute ``unpack``."""
        items = list(self.value())
        if len(items) != count:
            raise ValueError(f"{len(items)} items are unpacked into {count} names")
        self.stack += reversed(items)

    def do_pop(self, _: None) -> None:
        """Execute ``pop``."""
        self.stack.pop()

    def do_copy(self, place: int) -> None:
        """Execute ``copy``."""
        self.stack.append(self.stack[-place])

    def do_swap(self, place: int) -> None:
        """Execute ``swap``."""
        self.stack[-1], self.stack[-place] = self.stack[-place], self.stack[-1]

    def do_iter(self, _: None) -> None:
        """Execute ``iter``."""
        self.stack.append(iter(self.value()))

    def do_next(self, end: int) -> None:
        """Execute ``next``."""
        try:
            self.stack.append(next(self.stack[-1]))
        except StopIteration:
            self.stack.pop()
            self.at = end

    def do_jump(self, target: int) -> None:
        """Execute ``jump``."""
        self.at = target

    def do_branch(self, arg: tuple[bool, int]) -> None:
        """Execute ``branch``."""
        flag, target = arg
        if bool(self.value()) is flag:
            self.at = target

    def do_unknown(self, what: str) -> None:
        """Execute ``unknown``."""
        self.stop(f"unknown instruction {what}")

    def do_call(self, arg: tuple[int, tuple[str, ...]]) -> None:
        """Execute ``call``."""
        count, names = arg
        named = self.pop(len(names))
        args = self.pop(count - len(names))
        function, kwargs = self.stack.pop(), dict(zip(names, named, strict=True))
        if isinstance(function, Method):
            self.record("call_method", function.name, (function.owner, *args), kwargs)
        elif is_torch(function):
            self.record("call_function", function, tuple(args), kwargs)
        elif isinstance(function, FunctionType):
            bound = inspect.signature(function).bind(*args, **kwargs)
            bound.apply_defaults()
            self.stack.append(Frame(self.tracer, function, bound.arguments).run())
        elif isinstance(getattr(function, "__self__", None), PURE_OWNERS) or (
            function in PURE and not any(isinstance(it, TensorVariable) for it in args)
        ):
            self.stack.append(function(*args, **kwargs))
        else:
            self.stop(f"call of {function}")

    def record(self, op: str, target: Any, args: Any, kwargs: Any) -> None:
        """Push what the tracer makes of a call."""
        self.stack.append(self.tracer.record(op, target, args, kwargs, self.line))
