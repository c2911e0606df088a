"""Commands for people: they run on this machine with the active Python; tox checks the rest."""

from __future__ import annotations

import sys

import nox


nox.options.default_venv_backend = "none"


@nox.session(default=False)
def verify(session: nox.Session) -> None:
    """Prove katas: nox -s verify -- lecture02 [k03_views] [--write], or -- --due --write."""
    session.run(sys.executable, "-m", "tests.gate.verify", *(session.posargs or ["--help"]))


@nox.session(default=False)
def new(session: nox.Session) -> None:
    """Write the files of a new kata: nox -s new -- lecture02 strides "Contiguous strides"."""
    session.run(sys.executable, "-m", "tests.gate.scaffold", *(session.posargs or ["--help"]))


@nox.session(default=False)
def reset(session: nox.Session) -> None:
    """Restore the stub of a kata and keep a copy: nox -s reset -- lecture04/k02_clamp."""
    session.run(sys.executable, "-m", "plugins.reset", *(session.posargs or ["--help"]))


@nox.session(default=False)
def update(session: nox.Session) -> None:
    """Bring new katas into your fork and keep your answers: nox -s update [-- upstream/main]."""
    session.run(sys.executable, "-m", "plugins.update", *session.posargs)


@nox.session(default=False)
def practice(session: nox.Session) -> None:
    """Run the katas that you have edited: nox -s practice [-- --base upstream/main]."""
    session.run(sys.executable, "-m", "plugins.practice", *session.posargs)


@nox.session(default=False)
def accept(session: nox.Session) -> None:
    """Accept what solutions print in expect tests: nox -s accept -- katas/lecture04."""
    session.run(sys.executable, "-m", "tests.gate.accept", *(session.posargs or ["katas"]))


@nox.session(default=False)
def page(session: nox.Session) -> None:
    """Write the page of the course, and print its path: nox -s page [-- FILE]."""
    (file,) = session.posargs or [".katas/page.html"]
    session.run(sys.executable, "-m", "pytest", f"--page={file}")


@nox.session(default=False)
def screenshot(session: nox.Session) -> None:
    """Take the README's picture of the page, with invented progress."""
    session.run(sys.executable, "-m", "tests.screenshot", *(session.posargs or ["docs/page.png"]))


@nox.session(default=False)
def recording(session: nox.Session) -> None:
    """Record the README's tour in a terminal."""
    session.run(sys.executable, "-m", "tests.recording", *(session.posargs or ["docs/tour.svg"]))


@nox.session(default=False)
def pictures(session: nox.Session) -> None:
    """Draw the pictures of the lectures anew: docs/lectureNN.svg."""
    session.run(sys.executable, "-m", "docs.pictures", *session.posargs)


@nox.session(default=False)
def wings(session: nox.Session) -> None:
    """Draw the wings of plugins/ in CONTRIBUTING.md from their imports."""
    session.run(sys.executable, "-m", "tests.wings", *session.posargs)


@nox.session(default=False)
def device(session: nox.Session) -> None:
    """Run the solutions on this machine's GPU: nox -s device [-- cuda|mps [-m cuda -n 14]]."""
    name, *more = session.posargs or ["mps" if sys.platform == "darwin" else "cuda"]
    command = (sys.executable, "-m", "pytest", "katas", "--solutions", f"--device={name}", "-q")
    session.run(*command, *more)


@nox.session(default=False)
def cluster(session: nox.Session) -> None:
    """Run lecture 13, or other tests, as a job of four ranks: nox -s cluster [-- katas -q]."""
    session.run(sys.executable, "-m", "tests.support.cluster", *session.posargs)


@nox.session(default=False)
def matrix(session: nox.Session) -> None:
    """Run all lectures with each version of torch: nox -s matrix [-- torch215 lecture04]."""
    session.run(sys.executable, "-m", "tests.matrix.tour", *session.posargs)
