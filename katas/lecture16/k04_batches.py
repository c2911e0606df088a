"""Zero-one: which batches a file answers correctly.

The export succeeds, and so does the first request, a batch of 2 like the example. Which other
batches can the file answer? Of these six, two refuse a batch of 1, and one answers it wrongly,
without an error.

    name        forward(x), x of shape [2, 4]               dynamic_shapes
    static      x + 1                                       none
    named       x + 1                                       {0: Dim("b")}
    one         x + 1, exported with x of shape [1, 4]      {0: Dim("b")}
    size        x / x.shape[0]                              {0: Dim("b")}
    integer     x / int(x.shape[0])                         {0: Dim("b")}
    branch      x + 1 if x.shape[0] > 1 else x * 0          {0: Dim("b")}

Fill in `answers`. Your rows cannot call torch.

Begin with ``named``: which shape does the file give for x, and what does ONNX Runtime check?
Afterwards read ``ShapeEnv.create_symbol`` in ``torch/fx/experimental/symbolic_shapes.py``, in
site-packages.
"""

from __future__ import annotations


RIGHT, WRONG, REFUSED = "right", "wrong", "refused"


def answers() -> dict[str, tuple[str, str, str]]:
    """For each row, return what ONNX Runtime does with batches of 1, 2 and 5 rows.

    RIGHT if it returns what ``forward`` does, WRONG if it does not, REFUSED if it raises.
    """
    # TODO: return {"static": (..., ..., ...), ...}
    raise NotImplementedError("answers")
