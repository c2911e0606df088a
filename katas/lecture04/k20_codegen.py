"""From a formula to a backward.

PyTorch has hundreds of backward functions, and they are written by a program in Python. It reads
formulas, and writes C++:

    exp    self: grad * result.conj()

    static variable_list backward(AutogradContext* ctx, variable_list grads) {
      ...
      if (ctx->needs_input_grad(0)) {
        gradients[0] = grad * result.conj();
      }
      return gradients;
    }

Here is that program, without its second half. forward saves what formulas mention; you write
backward, in about 20 lines:

1. Bring back what was saved, under its own name: then a formula can stand there as it is.
2. Compute each gradient that is asked for.
3. Mind the two ways to count arguments: all of them, or only the tensors.

Begin on paper: write the C++ for where(condition, self, other), of which only the last two have a
formula.
Real life differs: operators with several results, lists, and sizes that are saved without their
tensor.
Afterwards read process_function in tools/autograd/gen_autograd_functions.py, which the wheel has in
torchgen/packaged/autograd.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


# Types of arguments in C++, and how to take one out of an IValue.
CXX: Final = {
    "Tensor": "const Tensor&",
    "Scalar": "const at::Scalar&",
    "int": "int64_t",
    "bool": "bool",
}
READ: Final = {"Scalar": "toScalar()", "int": "toInt()", "bool": "toBool()"}
NO_DERIVATIVE: Final = "non_differentiable"


@dataclass(frozen=True)
class Entry:
    """An operator ``at::name`` with one result, and a formula for the gradient of each Tensor."""

    name: str
    arguments: tuple[tuple[str, str], ...]  # (type, name), as in the schema
    formulas: dict[str, str]
    overload: str = ""

    @property
    def symbol(self) -> str:
        """The name in C++ of the struct, and of the operator that tests call: ``pow_Scalar``."""
        return f"{self.name}_{self.overload}" if self.overload else self.name


PRELUDE: Final = """\
// tier: full
#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace generated {
"""


def source_text(entries: list[Entry], namespace: str) -> str:
    """Return a whole C++ file that registers an operator for each entry. Given."""
    structs = "\n".join(struct_text(entry) for entry in entries)
    lines = []
    for entry in entries:
        parameters = ", ".join(f"{CXX[type_]} {name}" for type_, name in entry.arguments)
        names = ", ".join(name for _, name in entry.arguments)
        schema = ", ".join(f"{type_} {name}" for type_, name in entry.arguments)
        lines.append(
            f'  m.def("{entry.symbol}({schema}) -> Tensor", []({parameters}) -> Tensor {{\n'
            f"    return generated::{entry.symbol}::apply({names});\n"
            f"  }});\n"
        )
    registrations = "".join(lines)
    library = f"TORCH_LIBRARY({namespace}, m) {{\n{registrations}}}\n"
    return f"{PRELUDE}\n{structs}\n}} // namespace generated\n\n{library}"


def saved_names(entry: Entry) -> list[str]:
    """Return what forward keeps, as in k19_formula: arguments in order, then "result". Given."""
    text = " ".join(entry.formulas.values())
    names = set(re.findall(r"(?<!\.)(?<!->)(?<!::)\b[A-Za-z_]\w*", text))
    return [name for name in [*(name for _, name in entry.arguments), "result"] if name in names]


def saved_tensors(entry: Entry) -> list[str]:
    """Return the names that forward has given to ``save_for_backward``, in that order. Given."""
    others = {name for type_, name in entry.arguments if type_ in READ}
    return [name for name in saved_names(entry) if name not in others]


def saved_values(entry: Entry) -> list[tuple[str, str]]:
    """Return (type, name) of what forward has put into ``ctx->saved_data``. Given."""
    names = saved_names(entry)
    return [(type_, name) for type_, name in entry.arguments if type_ in READ and name in names]


def forward_text(entry: Entry) -> str:
    """Return the C++ of forward. Given.

    A Tensor without a formula may not require a gradient: better an error than none.
    """
    parameters = ", ".join(f"{CXX[type_]} {name}" for type_, name in entry.arguments)
    names = ", ".join(name for _, name in entry.arguments)
    refused = [n for t, n in entry.arguments if t == "Tensor" and n not in entry.formulas]
    message = f"{entry.symbol}: not differentiable with respect to argument"
    lines = [
        f"  static Tensor forward(AutogradContext* ctx, {parameters}) {{",
        *(f"    TORCH_CHECK(!{n}.requires_grad(), \"{message} '{n}'\");" for n in refused),
        "    const at::AutoDispatchBelowADInplaceOrView guard;",
        f"    const Tensor result = at::{entry.name}({names});",
        f"    ctx->save_for_backward({{{', '.join(saved_tensors(entry))}}});",
        *(f'    ctx->saved_data["{name}"] = {name};' for _, name in saved_values(entry)),
        "    ctx->set_materialize_grads(false);",
        "    return result;",
        "  }",
    ]
    return "\n".join(lines)


def struct_text(entry: Entry) -> str:
    """Return the C++ struct with forward and backward of an operator. Given."""
    head = f"struct {entry.symbol} : torch::autograd::Function<{entry.symbol}> {{"
    return "\n".join([head, forward_text(entry), backward_text(entry), "};", ""])


def backward_text(entry: Entry) -> str:
    """Return the C++ of backward, a member of a struct.

    ``static variable_list backward(AutogradContext* ctx, variable_list grads)`` returns a
    ``variable_list``, a vector of Tensor: one for each argument of forward, whatever its type, and
    ``Tensor()`` where there is no gradient. In a formula stand the names that were saved, and
    ``grad``.

    - ``grads[0]`` is the gradient of the result. If it is not ``defined()``, no formula is
      evaluated, and each Tensor that is returned is ``Tensor()``.
    - ``ctx->get_saved_variables()`` gives back `saved_tensors`, a ``variable_list`` in their order.
    - ``ctx->saved_data["dim"].toInt()`` gives back a value; READ has the call for each type.
    - A formula is evaluated only if ``ctx->needs_input_grad(i)``: ``i`` counts the tensors among
      the arguments, from 0.
    - NO_DERIVATIVE, and no formula at all, mean no gradient.
    """
    # TODO: begin with the line that opens the function, and a vector of empty gradients.
    raise NotImplementedError("backward_text")
