"""The second half of a generator of backward functions.

What a line says depends on the place of each argument, once among all and once among the tensors.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


# Argument types in C++, and how to read each from an IValue.
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
        """The C++ name of the struct, and of the operator that tests call: ``pow_Scalar``."""
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
    """Return the names that forward passes to ``save_for_backward``, in order. Given."""
    others = {name for type_, name in entry.arguments if type_ in READ}
    return [name for name in saved_names(entry) if name not in others]


def saved_values(entry: Entry) -> list[tuple[str, str]]:
    """Return (type, name) of each value that forward puts into ``ctx->saved_data``. Given."""
    names = saved_names(entry)
    return [(type_, name) for type_, name in entry.arguments if type_ in READ and name in names]


def forward_text(entry: Entry) -> str:
    """Return the C++ of forward. Given.

    A Tensor without a formula must not require a gradient: an error is better than no gradient.
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
    ``variable_list``, a vector of Tensor: one gradient for each argument of forward, whatever its
    type, and ``Tensor()`` where there is no gradient. A formula uses the saved names and ``grad``.

    - ``grads[0]`` is the gradient of the result. If it is not ``defined()``, evaluate no formula,
      and return only ``Tensor()``.
    - ``ctx->get_saved_variables()`` returns `saved_tensors`, a ``variable_list`` in the same order.
    - ``ctx->saved_data["dim"].toInt()`` returns a value; READ gives the call for each type.
    - Evaluate a formula only if ``ctx->needs_input_grad(i)``: ``i`` counts only the tensors among
      the arguments, from 0.
    - Both NO_DERIVATIVE and a missing formula mean no gradient.
    """
    lines = [
        "  static variable_list backward(AutogradContext* ctx, variable_list grads) {",
        f"    variable_list gradients({len(entry.arguments)});",
        "    const Tensor& grad = grads[0];",
        "    if (!grad.defined()) {",
        "      return gradients;",
        "    }",
        "    const variable_list saved = ctx->get_saved_variables();",
    ]
    for place, name in enumerate(saved_tensors(entry)):
        lines.append(f"    const Tensor& {name} = saved[{place}];")
    for type_, name in saved_values(entry):
        lines.append(f'    const auto {name} = ctx->saved_data["{name}"].{READ[type_]};')
    # A gradient is numbered among all arguments, an edge only among the tensors.
    edge = 0
    for place, (type_, name) in enumerate(entry.arguments):
        formula = entry.formulas.get(name, NO_DERIVATIVE)
        if formula != NO_DERIVATIVE:
            lines.append(f"    if (ctx->needs_input_grad({edge})) {{")
            lines.append(f"      gradients[{place}] = {formula};")
            lines.append("    }")
        edge += type_ == "Tensor"
    return "\n".join([*lines, "    return gradients;", "  }"])
