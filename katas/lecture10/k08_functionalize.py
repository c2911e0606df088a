"""Functionalization: the same program without a write.

Passes that drop, merge or move operators are right only if each value stays what it was when it
was computed. Programs write anyway: ``x[0] += 1``, ``relu_``, a cache that is filled. So
before its own passes PyTorch rewrites a program: what is written becomes a new value, and every
name for that memory means the new value from then on.

You get a graph as ``make_fx(function, tracing_mode="fake")(*inputs)`` gives it: below autograd,
operators of ``torch.ops.aten`` (views may be anybody's), and views and writes as the program
made them. ::

    x = input                                  x = input
    select = aten.select.int(x, 0, 1)          select = aten.select.int(x, 0, 1)
    add_ = aten.add_.Tensor(select, 1)         add = aten.add.Tensor(select, 1)
    mul = aten.mul.Tensor(x, 2)                scatter = aten.select_scatter.default(x, add, 0, 1)
    return (mul, add_)                         mul = aten.mul.Tensor(scatter, 2)
                                               copy_ = aten.copy_.default(x, scatter)
                                               select_1 = aten.select.int(copy_, 0, 1)
                                               return (mul, select_1)

**1.** ``put_back(graph, view, base, value)`` adds to the new `graph` what the node `base` becomes
if the node `value` takes the place of its view, and returns that node. `view` is the node of the
old graph that made the view; its first argument is what was viewed, and `base` is the new node
for that. What the view shows of `base` is replaced by `value`, the rest stays:

- ``select.int``, ``slice.Tensor``, ``diagonal.default``: by ``select_scatter.default``,
  ``slice_scatter.default``, ``diagonal_scatter.default``. They take base, value, and the
  arguments of the view that followed the tensor, and return a new tensor.
- ``view.default``, ``unsqueeze.default``, ``squeeze.default``, ``squeeze.dim`` keep all elements
  in order: `value` with the sizes of what was viewed, by ``reshape.default``.
- ``t.default``, ``transpose.int`` and ``permute.default`` (its dims may be negative): the same
  operator on `value`, with dims that undo the view.
- ``detach.default`` and ``alias.default``, which show all that there is: `value` itself. (As which
  of them ``x.detach()`` is recorded depends on the version.)
- Any other operator, also the ``operator.getitem`` that takes a piece from a list: a ``ValueError``
  that says ``cannot write through`` and names the operator.

**2.** ``functionalize(module)`` returns a new ``fx.GraphModule`` with the same placeholders, names
and all; `module` stays as it is.

- An operator that neither writes nor makes a view is copied in its place, with its arguments as
  they are now. So are the operators that make views.
- A write, ``add_.Tensor(a, ...)``, becomes ``add.Tensor(a, ...)``: the same name without the last
  ``_``, the same overload. If its result has another dtype than what is written, it goes through
  ``_to_copy.default(result, dtype=...)``: a float32 tensor stays one, also if a float64 tensor is
  added. What ``add_`` returns is the tensor `a` itself, in all that follows.
- A write through a view is put back into what was viewed, and from there, through as many views
  as there are, into the base: the tensor that is no view. Then each view of this base is out of
  date. It is made again, by its own operator and from its own argument (which may be out of date
  as well), when it is next needed and not before; and not twice until the next write. All names
  agree: the base, older and younger views, views of views, views in several pieces (``split``
  and ``unbind``: a node for the list, and ``operator.getitem`` for each piece).
- Before it returns, an input that was written to is given its last value by
  ``copy_.default(input, value)``: one for each such input, in the order of the inputs, after
  everything else. These are the only operators left that write.
- What is returned keeps its form (lists, dicts, None) and aliases as before. ``copy_`` returns
  the input that it wrote, so this node is the input's value now: an output that is this input is
  this node, and an output that is a view of it is made again from this node. Two outputs that are
  views of one tensor share memory too.
- A write that is not of this form raises a ``ValueError`` that says ``cannot functionalize``
  and names the operator: ``out=`` (``aten.add.out``), ``_foreach_add_`` (its first argument is a
  list of tensors), and what moves strides instead of elements (``torch.Tag.inplace_view`` is in
  the tags of ``aten.t_.default``).

What a schema says: ``op._schema.name`` is ``"aten::add_"``, ``op._overloadname`` is ``"Tensor"``,
``op._schema.is_mutable`` tells whether it writes. ``op.is_view`` tells whether a result is a view
of the first argument. ``node.meta["val"]`` is a fake tensor, with shape and dtype: an operator
runs on these too, and tells the dtype of its result. ``graph.node_copy(node, f)`` copies a node
and asks ``f`` for each argument that is a node; ``fx.node.map_arg`` does so for arguments.

About 70 lines. Write it on nodes: no ``torch.func.functionalize``, ``torch.export``, ``make_fx``.

Out of scope: random writes, writes to attributes, inputs that share memory, writes to elements
that a tensor holds twice, views that other strides forbid, symbolic shapes, nodes that nobody
uses, the meta and the names of all other new nodes.

In PyTorch it happens while tracing, in C++: ``aten/src/ATen/FunctionalTensorWrapper.cpp``
(``regenerate_from_base``), ``aten/src/ATen/FunctionalInverses.cpp`` (``FunctionalInverses``).
There outputs that alias inputs are left to those who call:
``torch/_functorch/_aot_autograd/functional_utils.py`` (``gen_alias_from_base``).
"""

from __future__ import annotations

import torch
from torch import fx


aten = torch.ops.aten


def put_back(graph: fx.Graph, view: fx.Node, base: fx.Node, value: fx.Node) -> fx.Node:
    """Add to `graph` what `base` becomes if `value` takes the place of its view."""
    # TODO: which operator undoes this view?
    raise NotImplementedError("put_back")


def functionalize(module: fx.GraphModule) -> fx.GraphModule:
    """Return a graph that computes the same, and writes to nothing but its inputs, at the end."""
    # TODO: which new node has the value of an old one, now? What does a write change of that?
    raise NotImplementedError("functionalize")
