"""A component is a typed function: turn its signature into a command line.

    def fit(script: str, *args: str, num_replicas: int = 2, fast: bool = False) -> AppDef: ...

    torchx run FILE.py:fit --script fit.py --num_replicas 4 --fast false -- --lr 0.1

Nobody wrote a parser for that: TorchX reads the function. So a missing annotation is an error
before anything starts, and a default is a promise to everyone who omits the option.

1. `options`: read the options of the command line from the signature.
2. `call`: build a parser for them, and call the component with the parsed values.

About 25 lines. When argparse refuses something it raises SystemExit. Let that pass, and note that
``except Exception`` does not catch it.

Begin on paper: what is ``bool("False")``? And what goes wrong with
``fit(*["--lr", "0.1"], script="fit.py")``?
Afterwards read ``_create_args_parser`` in ``torchx/specs/builders.py``, and compare
``get_args_parser`` in ``torch/distributed/run.py``, which is written by hand.
"""

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
    # TODO: inspect.signature has kinds, annotations and defaults.
    raise NotImplementedError("options")


def call(component: Callable[..., Any], words: Sequence[str]) -> Any:
    """Return what the component returns for the words of a command line.

    - An option is spelled like its parameter, ``--num_replicas``; a one-letter option also as
      ``-n``. It may be ``-h``, so only ``--help`` prints the descriptions, which may contain ``%``.
    - Types are int, float, str, bool (true for the text true, in any letter case, else false) and
      lists of the first three (``1,2``, perhaps with spaces). An omitted option has its default.
    - Everything after the first ``--`` goes to ``*args: str``, word for word. For a component
      without ``*args``, words after ``--`` are an error, like an unknown option.
    """
    # TODO: split the words at "--", add an argument for each option, and call.
    raise NotImplementedError("call")
