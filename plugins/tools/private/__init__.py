"""Touches the private names of other projects: the only package of plugins/ that does.

One module for each project. Each function is one door: it says which name it uses, why no public
one does, and which release was read for it. tests/tools/ has one contract test for each, against
what is installed, so that a release which renames something breaks the test that names the door.
"""

from __future__ import annotations

from plugins.tools.private.missing import MissingNameError
from plugins.tools.private.pytest import captured_files
from plugins.tools.private.pytest import configure
from plugins.tools.private.pytest import explain_asserts
from plugins.tools.private.pytest import junit_xml
from plugins.tools.private.pytest import read_clock
from plugins.tools.private.pytest import redirect_terminal
from plugins.tools.private.pytest import set_session_start
from plugins.tools.private.pytest import share_trees
from plugins.tools.private.pytest import tear_down_for
from plugins.tools.private.pytest import terminal_writer
from plugins.tools.private.pytest import unconfigure
from plugins.tools.private.torch import BASE_COLLECTIVES
from plugins.tools.private.torch import CALLERS_FRAME
from plugins.tools.private.torch import DECORATOR_MODULE
from plugins.tools.private.torch import FUNCTIONAL_SPACE
from plugins.tools.private.torch import WRAPPING_OPERATOR
from plugins.tools.private.torch import argument_names
from plugins.tools.private.torch import demangle
from plugins.tools.private.torch import dispatch_mode
from plugins.tools.private.torch import is_overload
from plugins.tools.private.torch import operator_name
from plugins.tools.private.torch import overload_name
from plugins.tools.private.torch import profile_every_thread
from plugins.tools.private.torch import thread_state
from plugins.tools.private.torch import version_of
from plugins.tools.private.torch import without_modes
from plugins.tools.private.torch import without_overrides
from plugins.tools.private.triton import TritonAccess
from plugins.tools.private.triton import triton_accesses
from plugins.tools.private.triton import triton_block
from plugins.tools.private.triton import triton_compiled_launch
from plugins.tools.private.triton import triton_element
from plugins.tools.private.triton import triton_grid_setup
from plugins.tools.private.triton import triton_kernel
from plugins.tools.private.triton import triton_launch
from plugins.tools.private.triton import triton_numpy_dtype
from plugins.tools.private.triton import triton_program
from plugins.tools.private.triton import triton_target
from plugins.tools.private.triton import triton_tensor_setup
from plugins.tools.private.triton import triton_values
from plugins.tools.private.triton import use_triton_driver
from plugins.tools.private.xdist import replace_in_silence
from plugins.tools.private.xdist import worker_process


__all__ = [
    "BASE_COLLECTIVES",
    "CALLERS_FRAME",
    "DECORATOR_MODULE",
    "FUNCTIONAL_SPACE",
    "WRAPPING_OPERATOR",
    "MissingNameError",
    "TritonAccess",
    "argument_names",
    "captured_files",
    "configure",
    "demangle",
    "dispatch_mode",
    "explain_asserts",
    "is_overload",
    "junit_xml",
    "operator_name",
    "overload_name",
    "profile_every_thread",
    "read_clock",
    "redirect_terminal",
    "replace_in_silence",
    "set_session_start",
    "share_trees",
    "tear_down_for",
    "terminal_writer",
    "thread_state",
    "triton_accesses",
    "triton_block",
    "triton_compiled_launch",
    "triton_element",
    "triton_grid_setup",
    "triton_kernel",
    "triton_launch",
    "triton_numpy_dtype",
    "triton_program",
    "triton_target",
    "triton_tensor_setup",
    "triton_values",
    "unconfigure",
    "use_triton_driver",
    "version_of",
    "without_modes",
    "without_overrides",
    "worker_process",
]
