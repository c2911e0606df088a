"""A set of dispatch keys: a bit for each functionality, and one for each backend."""

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
        bits = 0
        for key in keys:
            for part in PARTS[key]:
                bits |= BITS[part]
        return cls(bits)

    def __contains__(self, key: str) -> bool:
        """Whether the set contains all parts of a key."""
        bits = KeySet.of(key).bits
        return self.bits & bits == bits

    def __or__(self, other: KeySet) -> KeySet:
        """Return the set with the bits of both. Given."""
        return KeySet(self.bits | other.bits)

    def __sub__(self, other: KeySet) -> KeySet:
        """Return this set without the functionalities of `other`."""
        return KeySet(self.bits & (~other.bits | EVERY_BACKEND))

    @property
    def highest(self) -> str:
        """The key of the highest functionality, on the highest backend if it is per backend.

        It is "Undefined" if the set contains no functionality.
        """
        functionalities = self.bits & ~EVERY_BACKEND
        if not functionalities:
            return "Undefined"
        highest = (*BACKENDS, *FUNCTIONALITIES)[functionalities.bit_length() - 1]
        if highest not in PREFIXES:
            return highest
        return PREFIXES[highest] + BACKENDS[(self.bits & EVERY_BACKEND).bit_length() - 1]

    def below(self, key: str) -> KeySet:
        """Return what a kernel for `key` passes on: the lower functionalities and all backends."""
        return KeySet(self.bits & (BITS[PARTS[key][0]] - 1))
