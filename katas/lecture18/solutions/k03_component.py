"""A component is a typed function: make a command line of its signature."""

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
    """Return the texts of the parameters in the part "Args:" of a docstring in Google's style."""
    _, _, text = (inspect.getdoc(component) or "").partition("Args:\n")
    return dict(re.findall(r"^ +(\w+): (.*)$", text.partition("\n\n")[0], re.MULTILINE))


def options(component: Callable[..., Any]) -> list[Option]:
    """Return an option for each parameter in the order of the signature, but none for ``*args``.

    Raise TypeError with the name of a parameter that has no annotation; that may be ``*args``. The
    help of a parameter without description is "".
    """
    found, texts = [], descriptions(component)
    for name, parameter in inspect.signature(component).parameters.items():
        if parameter.annotation is parameter.empty:
            raise TypeError(f"{name} has no type annotation")
        if parameter.kind is not parameter.VAR_POSITIONAL:
            required = parameter.default is parameter.empty
            default = None if required else parameter.default
            found += [Option(name, parameter.annotation, required, default, texts.get(name, ""))]
    return found


def call(component: Callable[..., Any], words: Sequence[str]) -> Any:
    """Return what the component returns for the words of a command line.

    - An option is written as in Python, ``--num_replicas``; one of a single letter also as ``-n``.
      This may be ``-h``, so only ``--help`` prints help.
    - Types are int, float, str, bool (true for the text true, in capitals or not, else false) and
      lists of the first three (``1,2``, perhaps with spaces). A default is taken as it is.
    - What comes after the first ``--`` goes to ``*args``, word for word.
    """

    def reader(kind: Any) -> Callable[[str], Any]:
        if kind is bool:
            return lambda text: text.lower() == "true"
        if get_origin(kind) is list:
            return lambda text: [get_args(kind)[0](part.strip()) for part in text.split(",")]
        return kind

    cut = [*words, "--"].index("--")
    parser = argparse.ArgumentParser(component.__name__, add_help=False)
    parser.add_argument("--help", action="help")
    for name, kind, must, default, text in options(component):
        flags = [f"--{name}", f"-{name}"] if len(name) == 1 else [f"--{name}"]
        parser.add_argument(*flags, type=reader(kind), required=must, default=default, help=text)
    values = vars(parser.parse_args(words[:cut]))
    parameters = inspect.signature(component).parameters.values()
    first = [values.pop(p.name) for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    return component(*first, *words[cut + 1 :], **values)
