"""Freeze and thaw: say which parts of the graph exist.

Three linear layers, in a row:

    h = encoder(x)        m = bridge(h)        y = head(m)        y.sum().backward()

    name       requires a gradient
    probe      head.weight
    bridge     bridge.weight
    prompt     x
    no_grad    x and head.weight; encoder and bridge run under torch.no_grad()
    thawed     head.weight; bridge.weight, too, from just before backward
    refrozen   all weights; just before backward, no longer bridge.weight

For each name, fill in which of h, m and y have a ``grad_fn``, and which of x and the weights have a
``.grad`` afterwards. Your rows cannot call torch.

Begin with ``probe``: what does backward need of h? Afterwards see ``AccumulateGrad::apply``
in ``torch/csrc/autograd/functions/accumulate_grad.cpp``, on GitHub.
"""

from __future__ import annotations


def graphs() -> dict[str, tuple[set[str], set[str]]]:
    """For each name, return a set of "h", "m", "y", and one of "x", "encoder", "bridge", "head"."""
    # TODO: return {"probe": ({...}, {...}), ...}
    raise NotImplementedError("graphs")
