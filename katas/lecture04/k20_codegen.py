"""A code generator: from a derivative's formula to a C++ backward.

Nobody writes PyTorch's backward functions: ``tools/autograd/derivatives.yaml`` has a formula for
each input of an operator, and a program in Python turns them into C++. Yours makes a
``torch::autograd::Function`` of an entry such as

    Entry("pow", (("Tensor", "self"), ("Scalar", "exponent")),
          {"self": "grad * exponent * self.pow(exponent.toDouble() - 1)"})

In a formula stand C++ expressions of ``grad`` (the gradient of the result), ``result`` (the
result) and the arguments by name. A Tensor with the formula ``non_differentiable`` gets no
gradient, without a word. A Tensor without a formula may not require one: the call fails.

1. ``mentioned(formula)``: the set of names in a formula, but for those after ``.``, ``->`` or
   ``::`` (members, not variables): ``grad * self.cos()`` mentions grad and self. Names of functions
   count, the letter in a number (``1e5``) does not.
2. ``saved_names(entry)``: the arguments that some formula mentions, in their order, then "result"
   if some formula mentions that. Only they are kept until backward: what is saved lives as long as
   the graph, and must not be written to.
3. ``struct_text(entry)``: the text of ``struct <entry.symbol>``, derived from
   ``torch::autograd::Function<<entry.symbol>>``. It stands in a file that has ``Tensor``,
   ``AutogradContext`` and ``variable_list`` (a vector of Tensor) in scope, see ``source_text``.
   - ``static Tensor forward(AutogradContext* ctx, <parameters>)``, types by CXX: by TORCH_CHECK it
     refuses a Tensor without a formula that requires grad ("sign: not differentiable with respect
     to argument 'self'", with ``entry.symbol``; PyTorch asks for grad mode too). Then under an
     ``at::AutoDispatchBelowADInplaceOrView`` guard it calls ``at::<entry.name>`` with all
     arguments, saves what ``saved_names`` says (tensors and the result by
     ``ctx->save_for_backward({...})``, other values by ``ctx->saved_data["name"] = name``), and
     returns the result. It calls ``ctx->set_materialize_grads(false)``, so that an undefined
     gradient arrives as an undefined Tensor, not as zeros.
   - ``static variable_list backward(AutogradContext* ctx, variable_list grads)``: returns one
     Tensor for each argument of forward, whatever its type; ``Tensor()`` where there is no
     gradient. If ``grads[0]`` is not defined, all of them are ``Tensor()``. A formula is evaluated
     only if ``ctx->needs_input_grad(i)``, where i counts the Tensor arguments only.
     Saved tensors come back by ``ctx->get_saved_variables()`` in the order in which they were
     saved, other values by ``ctx->saved_data["name"]`` and READ.

Out of scope: operators with several results, in-place ones, lists, sizes saved without their
tensor, forward mode. About 50 lines of Python; write the C++ for one operator by hand first, as in
k18_autograd. In PyTorch: ``tools/autograd/gen_autograd_functions.py`` (``process_function``),
``tools/autograd/load_derivatives.py`` (``saved_variables``), and for the C++ side
``torch/csrc/autograd/custom_function.h`` (``AutogradContext``).
"""

from __future__ import annotations

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
    # TODO
    raise NotImplementedError("mentioned")


def saved_names(entry: Entry) -> list[str]:
    """Return what forward has to keep for backward: arguments in order, then "result"."""
    # TODO
    raise NotImplementedError("saved_names")


def struct_text(entry: Entry) -> str:
    """Return the C++ struct with forward and backward of an operator."""
    # TODO
    raise NotImplementedError("struct_text")
