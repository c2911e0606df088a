"""A generator of backward functions: the text of a ``torch::autograd::Function``.

What a line of the result says depends on few things: which names the formulas mention, and the
place of each argument, once among all of them and once among the tensors.
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


def mentioned(formula: str) -> set[str]:
    """Return the names in a formula that are not members of something."""
    return set(re.findall(r"(?<!\.)(?<!->)(?<!::)\b[A-Za-z_]\w*", formula))


def saved_names(entry: Entry) -> list[str]:
    """Return what forward has to keep for backward: arguments in order, then "result"."""
    names = set().union(*map(mentioned, entry.formulas.values()))
    candidates = [*(name for _, name in entry.arguments), "result"]
    return [name for name in candidates if name in names]


def struct_text(entry: Entry) -> str:
    """Return the C++ struct with forward and backward of an operator."""
    return "\n".join(
        [
            f"struct {entry.symbol} : torch::autograd::Function<{entry.symbol}> {{",
            *_forward(entry),
            *_backward(entry),
            "};",
            "",
        ]
    )


def _saved(entry: Entry) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the tensors to save, and the type and name of each other value."""
    types = {name: type_ for type_, name in entry.arguments}
    names = saved_names(entry)
    others = [(types[name], name) for name in names if types.get(name) in READ]
    return [name for name in names if types.get(name) not in READ], others


def _forward(entry: Entry) -> list[str]:
    tensors, others = _saved(entry)
    parameters = ", ".join(f"{CXX[type_]} {name}" for type_, name in entry.arguments)
    names = ", ".join(name for _, name in entry.arguments)
    # Nobody has said what their gradient is: better an error than none.
    open_ = [n for t, n in entry.arguments if t == "Tensor" and n not in entry.formulas]
    message = f"{entry.symbol}: not differentiable with respect to argument"
    return [
        f"  static Tensor forward(AutogradContext* ctx, {parameters}) {{",
        *(f"    TORCH_CHECK(!{n}.requires_grad(), \"{message} '{n}'\");" for n in open_),
        "    const at::AutoDispatchBelowADInplaceOrView guard;",
        f"    const Tensor result = at::{entry.name}({names});",
        f"    ctx->save_for_backward({{{', '.join(tensors)}}});",
        *(f'    ctx->saved_data["{name}"] = {name};' for _, name in others),
        "    ctx->set_materialize_grads(false);",
        "    return result;",
        "  }",
    ]


def _backward(entry: Entry) -> list[str]:
    tensors, others = _saved(entry)
    lines = [
        "  static variable_list backward(AutogradContext* ctx, variable_list grads) {",
        f"    variable_list gradients({len(entry.arguments)});",
        "    const Tensor& grad = grads[0];",
        "    if (!grad.defined()) {",
        "      return gradients;",
        "    }",
        "    const variable_list saved = ctx->get_saved_variables();",
        *(f"    const Tensor& {name} = saved[{place}];" for place, name in enumerate(tensors)),
        *(f'    const auto {name} = ctx->saved_data["{name}"].{READ[t]};' for t, name in others),
    ]
    # A gradient has its argument's place among all of them, an edge its place among tensors.
    edge = 0
    for place, (type_, name) in enumerate(entry.arguments):
        formula = entry.formulas.get(name, NO_DERIVATIVE)
        if formula != NO_DERIVATIVE:
            lines.append(f"    if (ctx->needs_input_grad({edge})) {{")
            lines.append(f"      gradients[{place}] = {formula};")
            lines.append("    }")
        edge += type_ == "Tensor"
    return [*lines, "    return gradients;", "  }"]
