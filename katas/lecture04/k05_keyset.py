"""Store a set of dispatch keys in one integer: put two keys in, and find four.

    from torch._C import DispatchKey, DispatchKeySet
    print(DispatchKeySet(DispatchKey.CPU) | DispatchKeySet(DispatchKey.AutogradCUDA))
    # DispatchKeySet(CPU, CUDA, AutogradCPU, AutogradCUDA)

That is not a mistake. A key such as AutogradCUDA combines a functionality and a backend. There are
too many pairs for the 64 bits of an integer, so a set has one bit for each functionality and one
for each backend, and contains a key if both of its bits are set:

    bit    0    1    2      3      4     5   ...  12         13
         CPU CUDA Meta  Dense Sparse   ...      Autograd-  AutocastCPU
                                                Functionality
    CPU          = Dense                 and CPU     bits 3 and 0
    AutogradCUDA = AutogradFunctionality and CUDA    bits 12 and 1
    Python       = Python                            bit 6

Write the five operations of `KeySet`, about 18 lines. The tests compare with PyTorch's own set.

- Minus removes functionalities, but no backend: a CPU tensor stays a CPU tensor.

Begin on paper: which keys are left of the four above, minus AutogradCPU?
Afterwards open ``torch/include/c10/core/DispatchKeySet.h`` in site-packages: its long comment on
internals explains this picture.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


# From the lowest priority to the highest, as in c10/core/DispatchKey.h, which lists more of both.
BACKENDS: Final = ("CPU", "CUDA", "Meta")
FUNCTIONALITIES: Final = (
    *("Dense", "Sparse", "BackendSelect", "Python", "Functionalize", "Conjugate", "Negative"),
    *("ADInplaceOrView", "AutogradOther", "AutogradFunctionality", "AutocastCPU"),
    "PythonTLSSnapshot",
)
# The functionalities that exist per backend, and the prefixes of their keys: SparseCUDA.
PREFIXES: Final = {"Dense": "", "Sparse": "Sparse", "AutogradFunctionality": "Autograd"}
# The bit of each backend and functionality.
BITS: Final = {part: 1 << place for place, part in enumerate((*BACKENDS, *FUNCTIONALITIES))}
# The parts of each key: ("AutogradFunctionality", "CUDA") of AutogradCUDA, ("Python",) of Python.
PARTS: Final = {
    **{each: (each,) for each in FUNCTIONALITIES if each not in PREFIXES},
    **{PREFIXES[each] + backend: (each, backend) for each in PREFIXES for backend in BACKENDS},
}
# All bits of backends.
EVERY_BACKEND: Final = (1 << len(BACKENDS)) - 1


@dataclass(frozen=True)
class KeySet:
    """A set of dispatch keys; `bits` is the union of its keys' bits."""

    bits: int = 0

    @classmethod
    def of(cls, *keys: str) -> KeySet:
        """Return the set of these keys, which are keys of `PARTS`."""
        # TODO
        raise NotImplementedError("KeySet.of")

    def __contains__(self, key: str) -> bool:
        """Whether the set contains all parts of a key."""
        # TODO
        raise NotImplementedError("KeySet.__contains__")

    def __or__(self, other: KeySet) -> KeySet:
        """Return the set with the bits of both. Given."""
        return KeySet(self.bits | other.bits)

    def __sub__(self, other: KeySet) -> KeySet:
        """Return this set without the functionalities of `other`."""
        # TODO
        raise NotImplementedError("KeySet.__sub__")

    @property
    def highest(self) -> str:
        """The key of the highest functionality, on the highest backend if it is per backend.

        It is "Undefined" if the set contains no functionality.
        """
        # TODO
        raise NotImplementedError("KeySet.highest")

    def below(self, key: str) -> KeySet:
        """Return what a kernel for `key` passes on: the lower functionalities and all backends."""
        # TODO
        raise NotImplementedError("KeySet.below")
