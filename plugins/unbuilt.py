"""Fails the tests of a C++ or CUDA kata that has no library: it does not compile, or load."""

from __future__ import annotations

import pytest

from plugins.extension import Extension
from plugins.failures import repeated_key


told_key = pytest.StashKey[str]()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Fail a test whose library is missing: in full the first time, then by reference.

    Here and not in the fixture, where it would be an error of the set-up, in full every time.
    """
    built = pyfuncitem.funcargs.get("extension") or pyfuncitem.funcargs.get("unloaded")
    module = pyfuncitem.getparent(pytest.Module)
    if not isinstance(built, Extension) or not built.problem or module is None:
        return
    if told := module.stash.get(told_key, ""):
        # The error is hundreds of lines above by now, so its first line is said again.
        pyfuncitem.stash[repeated_key] = True
        first = built.problem.partition("\n")[0]
        pytest.fail(f"{built.source} has no library, see {told}:\n{first}", pytrace=False)
    module.stash[told_key] = pyfuncitem.name
    built.check()
