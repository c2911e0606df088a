"""Shapes and FLOPs: run a graph node by node, on tensors that have no memory.

An interpreter of a ``torch.fx`` graph does what the generated code would do, one node after
another, and a subclass that overrides one method looks at every value on its way. Run on fake
tensors, which have shape, dtype, strides and device but no memory, it says what a model would make
before anything is made.

1. ``flops(operator, args, result)``: the floating point operations of one ATen operator, as an
   int. A multiplication and the addition of its product are two. `operator` is an overload such
   as ``torch.ops.aten.mm.default``, `args` its positional arguments, `result` what it returned.
   Count ``aten.mm``, ``addmm``, ``bmm`` and ``baddbmm`` (two for each term of each sum; what
   addmm and baddbmm add is left out; each has other overloads, such as ``mm.dtype``, whose
   arguments go on), ``aten.convolution`` (the bias is left out, and a product with padding counts
   like any other), and attention: every operator of aten whose name begins with
   ``_scaled_dot_product_``, but for those of backward (q, k and v come first; two products, q with
   k and the weights with v, for each head of q; a mask changes nothing). All else is 0. (PyTorch's
   counter knows a few more: gradients of convolution and attention, ``_scaled_mm``, kernels of its
   backends.)
   ``aten.convolution`` takes x, weight, bias, stride, padding, dilation, transposed,
   output_padding, groups; an ordinary weight is (out, in / groups, ...), a transposed one
   (in, out / groups, ...). Use shapes alone.

2. ``Interpreter(module)``, for a ``torch.fx.GraphModule``; ``run(*inputs)`` returns what stands
   in the graph's output node. It calls ``run_node(node, args, kwargs)`` once for each node, in
   the order of the graph, output included. `args` and `kwargs` are the node's own, with values in
   place of nodes (``torch.fx.node.map_arg`` finds them in lists, dicts and slices too). For a
   placeholder `args` is ``(value,)``: the next input or, if there is none left, the default,
   which is in ``node.args`` already. An input too few: raise TypeError with the placeholder's
   ``target`` in the message. Too many: TypeError with the word "inputs".
   ``run_node`` returns the value of a node: for a placeholder and the output ``args[0]``; for
   get_attr what stands under the dotted `target`; for call_function ``target(*args, **kwargs)``;
   for call_method the method of that name of ``args[0]``; for call_module the submodule's result.
   A value is dropped right after its last user has run (one without a user at once), so that
   memory is freed as in a plain program. ``run`` may be called again.

3. ``profile(module, *inputs)`` returns a dict from each node to its ``Row``: the shapes and dtypes
   of all tensors in its value, in order (none for an int; two for a pair), and its FLOPs. One
   node may run many operators: ``nn.Linear`` runs ``t`` and ``addmm``. So count what reaches a
   ``TorchDispatchMode`` while the node runs; autograd has then taken composite operators apart.
   No real kernel runs and no memory is taken: under ``FakeTensorMode()`` of
   ``torch._subclasses.fake_tensor``, run on what its ``from_tensor`` makes of the tensors among
   the inputs, also inside lists, and of all parameters and buffers
   (``torch.func.functional_call`` lends a module others while its forward runs). The mode alone
   does not save you: an in-place operator whose arguments are all real runs for real under it,
   such as the ``num_batches_tracked.add_(1)`` of a batch norm in train mode. Meta tensors will
   not do: they forget their device, and a graph that makes a tensor on the CPU mixes the two.
   The module, its graph, its parameters and buffers, and the inputs stay as they are.

About 70 lines. Do not use ``torch.fx.Interpreter``, ShapeProp, FakeTensorProp or
``torch.utils.flop_counter``. Out of scope: values that depend on data (``item``, ``nonzero``),
backward passes, inference mode, ``*args`` as a placeholder, and graphs inside the graph.

The counter of torch 2.13 has no formula for ``_scaled_dot_product_flash_attention_for_cpu``,
which is what attention runs on a CPU: it says 0. The tests let it count attention by its parts.

In PyTorch: ``torch/fx/interpreter.py`` (``Interpreter``), ``torch/fx/passes/shape_prop.py``,
``torch/fx/passes/fake_tensor_prop.py``, ``torch/utils/flop_counter.py``.
"""

from __future__ import annotations

from typing import Any
from typing import NamedTuple

import torch  # noqa: TC002 - your answer calls it
from torch import fx  # noqa: TC002 - likewise


class Row(NamedTuple):
    """What a node's value is made of, and what it costs. Given."""

    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[torch.dtype, ...]
    flops: int


def flops(operator: Any, args: tuple[Any, ...], result: Any) -> int:
    """Return the floating point operations of one ATen operator."""
    # TODO: matrix products, convolution and attention, from shapes.
    raise NotImplementedError("flops")


class Interpreter:
    """Runs an FX graph, one node after another."""

    def __init__(self, module: fx.GraphModule) -> None:
        self.module = module

    def run(self, *inputs: Any) -> Any:
        """Return the value of the graph's output."""
        # TODO: keep the values of nodes for as long as they are needed; call run_node.
        raise NotImplementedError("Interpreter.run")

    def run_node(self, node: fx.Node, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the value of one node, whose arguments are values."""
        # TODO: one case for each op of a node.
        raise NotImplementedError("Interpreter.run_node")


def profile(module: fx.GraphModule, *inputs: Any) -> dict[fx.Node, Row]:
    """Return shapes, dtypes and FLOPs of each node, without memory and without work."""
    # TODO: a subclass of your Interpreter, run on fake tensors.
    raise NotImplementedError("profile")
