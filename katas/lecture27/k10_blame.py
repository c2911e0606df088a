"""Predict which line an asynchronous device blames.

CUDA reports a bad index at ``loss.item()``, a layer above the lookup. The next day it is another
line. The lookup is guilty both times:

    host      launch bad | launch | launch | item ........ raises here
    device               | bad ............ fails
    ms        0          1        2        3

Below are six programs for such a device, with a clock. At which line does each end in an error,
counted from 1?

Begin with "sleep": when does the kernel fail, and who asks next?
Afterwards find the error's words in PyTorch's repository: ``c10/cuda/CUDAMiscFunctions.cpp``.

Real life differs: set ``CUDA_LAUNCH_BLOCKING`` before CUDA starts; and nobody knows the times.
"""

from __future__ import annotations


# Line 1 is the one below a program's name.
# kernel(5) launches a kernel that the device computes for 5 ms, and sleep(5) is Python's own. Each
# line takes the host 1 ms, and a sleep or a wait as long as it lasts. Kernels of one stream run
# one after the other. One that fails does so at its end, and leaves the device broken.
# item() waits for its stream, synchronize() for each of them. `shape` needs nothing of the device.
# shapes_match=False: the operands have shapes that do not go together. The host knows all shapes.
# This device looks for an error when a launch, an item or a synchronize begins, and after a wait.
PROGRAMS = {
    "sleep": """
a = kernel(4, fails=True)
sleep(9)
b = kernel(2)
b.item()
""",
    "queue": """
a = kernel(20)
b = kernel(2, fails=True)
sleep(9)
c = kernel(2)
c.shape
c.item()
""",
    "side": """
a = kernel(8, fails=True, stream=side)
b = kernel(1)
b.item()
sleep(9)
b.shape
synchronize()
""",
    "host": """
a = kernel(5, fails=True)
b = kernel(5, shapes_match=False)
c = kernel(5)
c.item()
""",
    "caught": """
a = kernel(2, fails=True)
try:
    a.item()
except RuntimeError:
    sleep(9)
a.shape
b = kernel(2)
b.item()
""",
    "blocking": """
os.environ["CUDA_LAUNCH_BLOCKING"] = "1"
a = kernel(4)
b = kernel(4, fails=True)
c = kernel(4)
c.item()
""",
}


def blamed() -> dict[str, int]:
    """Return for each program the line that raises the error which ends it: the uncaught one."""
    # TODO: return {"sleep": ..., ...}
    raise NotImplementedError("blamed")
