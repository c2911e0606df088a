"""Split one commit into a stack of three, and stack it anew after a review: branch by branch."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from katas.lecture28.repository import Run


OLD, NEW = "slope * x elsewhere.", "slope * x elsewhere, zero included."


def split(run: Run) -> None:
    """Make the branches in the clone, where ``leaky`` is checked out and stays where it is."""
    run("git switch -c stack/1 upstream/main")
    old = run.read("tinytorch/kernels.py")
    new = run("git show leaky:tinytorch/kernels.py")
    helper = new[new.index("def sloped") : new.index("def relu_cpu")]
    upper = old.replace("def relu_cpu", f"{helper}def relu_cpu")
    upper = upper.replace("[x if x > 0 else 0.0 for x in self]", "[sloped(x, 0.0) for x in self]")
    run.write("tinytorch/kernels.py", upper)
    run('git commit -a -m "Give relu its slope by an argument"')
    run("git switch -c stack/2")
    run("git checkout leaky -- tinytorch test docs/ops.md")
    run('git commit -m "Add leaky_relu"')
    run("git switch -c stack/3")
    run("git checkout leaky -- .")
    run('git commit -m "Explain which activation to take"')


def restack(run: Run) -> None:
    """Mend the lowest commit and put the stack on upstream's newest; ``stack/3`` is checked out."""
    old = [run(f"git rev-parse stack/{number}").strip() for number in (1, 2)]
    run("git fetch upstream")
    run("git switch stack/1")
    run.replace("tinytorch/kernels.py", OLD, NEW)
    run("git commit -a --amend --no-edit")
    run("git rebase upstream/main")
    run(f"git rebase --onto stack/1 {old[0]} stack/2")
    run(f"git rebase --onto stack/2 {old[1]} stack/3")
