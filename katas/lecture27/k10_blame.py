"""Predict which line an asynchronous device blames.

CUDA reports a bad index at ``loss.item()``, above the lookup. The next day it blames a different
line. The lookup is at fault both times:

    host      launch bad | launch | launch | item ........ raises here
    device               | bad ............ fails
    ms        0          1        2        3

Below are six programs for such a device, with timings. Which line (from 1) ends each with an error?

Begin with "sleep": when does the kernel fail, and which line checks next?
Afterwards find the wording of the error in PyTorch's repository:
``c10/cuda/CUDAMiscFunctions.cpp``.

Real life differs: set ``CUDA_LAUNCH_BLOCKING`` before CUDA starts; and you do not know the timings.
"""

from __future__ import annotations


# Line 1 is the line below a program's name.
# kernel(5) launches a kernel that runs on the device for 5 ms; sleep(5) sleeps on the host. Each
# line takes the host 1 ms; a sleep or a wait takes as long as it lasts. Kernels in one stream run
# one after the other. A failing kernel fails at its end, and leaves the device broken.
# item() waits for its stream, synchronize() for all streams. `shape` needs nothing from the device.
# shapes_match=False: the operands' shapes are incompatible. The host knows all shapes.
# This device checks for errors when a launch, an item or a synchronize starts, and after a wait.
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
    """For each program, return the line that raises the uncaught error that ends it."""
    # TODO: return {"sleep": ..., ...}
    raise NotImplementedError("blamed")
