"""Zero-one: the batches that a file answers correctly.

You name the batch size in `dynamic_shapes`, the export succeeds, the file says ``["b", 4]``. Yet
one of these answers a batch of 1 wrongly, without an error, and two refuse it.

    name        forward(x), x of shape [2, 4]               dynamic_shapes
    static      x + 1                                       none
    named       x + 1                                       {0: Dim("b")}
    one         x + 1, exported with x of shape [1, 4]      {0: Dim("b")}
    size        x / x.shape[0]                              {0: Dim("b")}
    integer     x / int(x.shape[0])                         {0: Dim("b")}
    branch      x + 1 if x.shape[0] > 1 else x * 0          {0: Dim("b")}

Fill in `answers`. Your rows cannot call torch.

Begin with ``named``: what does the file check of a size that has a name?
Afterwards read ``ShapeEnv.create_symbol`` in ``torch/fx/experimental/symbolic_shapes.py``, in
site-packages.
"""

from __future__ import annotations


RIGHT, WRONG, REFUSED = "right", "wrong", "refused"


def answers() -> dict[str, tuple[str, str, str]]:
    """Return for each row what ONNX Runtime does with batches of 1, 2 and 5 rows.

    RIGHT if it returns what ``forward`` does, WRONG if something else, REFUSED if it raises.
    """
    # TODO: return {"static": (..., ..., ...), ...}
    raise NotImplementedError("answers")
