"""Find out what two interpreters in one process share."""

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
    # The kernel and the C library hold these; the others are Python objects.
    return {
        "the working directory",
        "a child's environment",
        "the time zone",
        "a file descriptor",
    }
