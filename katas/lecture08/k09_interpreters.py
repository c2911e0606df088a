"""Find out what two interpreters in one process share.

torchdeploy, now history, ran several Pythons over one C++ library, each with its own GIL (3.11's
interpreters share one). Still, some things exist once per process, and others once per
interpreter.

    python -m katas.lecture08.test_k09_interpreters "import os; os.chdir('/')" "os.getcwd()"

This runs the first string in a new interpreter, and evaluates the second in the old one before and
after. Complete `shared`. (Do not try ``import torch`` there: it fails or hangs.)

Begin with a guess for each row.
Afterwards read the first note in ``torch/include/c10/core/impl/PyInterpreter.h``, in site-packages.
"""

from __future__ import annotations


# The code that another interpreter runs, and the expression that this one evaluates.
ROWS = {
    "a name in a module": ("import os; os.sep = '!'", "os.sep"),
    "a builtin": ("import builtins; builtins.len = None", "len is None"),
    "random's seed": ("import random; random.seed(8)", "random.getstate()[1][:2]"),
    "the working directory": ("import os; os.chdir('/')", "os.getcwd()"),
    "os.environ": ("import os; os.environ['KATA'] = 'on'", "os.environ.get('KATA')"),
    "a child's environment": (
        "import os; os.environ['KATA'] = 'on'",
        "subprocess.getoutput('echo $KATA')",
    ),
    "the time zone": (
        "import os, time; os.environ['TZ'] = 'KTM-5:45'; time.tzset()",
        "time.localtime(0).tm_min",
    ),
    "a file descriptor": ("import os; os.close(0)", "os.path.exists('/dev/fd/0')"),
}


def shared() -> set[str]:
    """Return the names of those ROWS in which this interpreter's answer changes."""
    # TODO: guess, then run the rows you are unsure about.
    raise NotImplementedError("shared")
