"""A component is a typed function: turn its signature into a command line."""

from __future__ import annotations

import argparse
import inspect
import re
from typing import TYPE_CHECKING
from typing import Any
from typing import NamedTuple
from typing import get_args
from typing import get_origin


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence


class Option(NamedTuple):
    """A parameter that can be given by name; the default is None if it is required."""

    name: str
    type: Any
    required: bool
    default: Any
    help: str


def descriptions(component: Callable[..., Any]) -> dict[str, str]:
    """Return the descriptions in the "Args:" section of a Google-style docstring, by parameter."""
    _, _, text = (inspect.getdoc(component) or "").partition("Args:\n")
    return dict(re.findall(r"^ +(\w+): (.*)$", text.partition("\n\n")[0], re.MULTILINE))


def options(component: Callable[..., Any]) -> list[Option]:
    """Return an option for each parameter except ``*args``, in the order of the signature.

    Raise TypeError with the name of a parameter that has no annotation, even if it is ``*args``.
    The help of a parameter without a description is "". No parameter is positional-only or
    ``**kwargs``.
    """
    made, docs = [], descriptions(component)
    for name, p in inspect.signature(component).parameters.items():
        if p.annotation is p.empty:
            raise TypeError(f"{name} has no type annotation")
        if p.kind is not p.VAR_POSITIONAL:
            kind, must = p.annotation, p.default is p.empty
            made += [Option(name, kind, must, None if must else p.default, docs.get(name, ""))]
    return made


def call(component: Callable[..., Any], words: Sequence[str]) -> Any:
    """Return what the component returns for the words of a command line.

    - An option is spelled like its parameter, ``--num_replicas``; a one-letter option also as
      ``-n``. It may be ``-h``, so only ``--help`` prints the descriptions, which may contain ``%``.
    - Types are int, float, str, bool (true for the text true, in any letter case, else false) and
      lists of the first three (``1,2``, perhaps with spaces). An omitted option has its default.
    - Everything after the first ``--`` goes to ``*args: str``, word for word. For a component
      without ``*args``, words after ``--`` are an error, like an unknown option.
    """

    def reader(kind: Any) -> Callable[[str], Any]:
        if kind is bool:
            return lambda text: text.lower() == "true"
        if get_origin(kind) is list:
            return lambda text: [get_args(kind)[0](part.strip()) for part in text.split(",")]
        return kind

    cut = [*words, "--"].index("--") if inspect.getfullargspec(component).varargs else len(words)
    parser = argparse.ArgumentParser(component.__name__, add_help=False)
    parser.add_argument("--help", action="help")
    for name, kind, must, default, text in options(component):
        flags = [f"--{name}", f"-{name}"] if len(name) == 1 else [f"--{name}"]
        doc = text.replace("%", "%%")
        parser.add_argument(*flags, type=reader(kind), required=must, default=default, help=doc)
    values = vars(parser.parse_args(words[:cut]))
    parameters = inspect.signature(component).parameters.values()
    first = [values.pop(p.name) for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    return component(*first, *words[cut + 1 :], **values)
