"""Tests of k17_build: each build is done once, and then checked in several ways."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import pytest
import setuptools
import torch
from torch.utils import cpp_extension

from katas import compat
from katas.lecture09 import k17_build as kata


if TYPE_CHECKING:
    from collections.abc import Callable


needs_cmake = pytest.mark.backend("cxx", "cmake", "ninja")
needs_ninja = pytest.mark.backend("cxx", "ninja")
# A build takes longer on a busy machine.
slow = pytest.mark.time_limit(300)
CMAKE, JIT, SETUP = "kata_cmake", "kata_load", "kata_setup"


def space(name: str) -> str:
    """Return the namespace in which a build's operator is registered."""
    return f"lecture09_k17_{name}"


class Workshop:
    """A folder with the source, where each build runs when it is first needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.source = folder / "squared_relu.cpp"
        self.source.write_text(kata.SOURCE, encoding="utf-8")
        self.done: dict[str, Path | Exception] = {}

    def once(self, name: str, build: Callable[[], Path]) -> Path:
        """Return a build's result, or raise its error; a build runs for the first test only."""
        if name not in self.done:
            try:
                self.done[name] = build()
            except Exception as error:  # noqa: BLE001 - raised again below
                self.done[name] = error
        result = self.done[name]
        if isinstance(result, Exception):
            raise result
        return result

    def configured(self) -> Path:
        """Return the folder that CMake configured."""
        return self.once("configured", self._configured)

    def built(self) -> Path:
        """Return the library that CMake built."""
        return self.once("built", self._built)

    def loaded(self) -> Path:
        """Return the library that cpp_extension.load built and loaded."""
        return self.once("loaded", self._loaded)

    def set_up(self) -> Path:
        """Return the library that setuptools built."""
        return self.once("set up", self._set_up)

    def run(self, command: list[str]) -> None:
        """Run a command of the exercise, and show what it printed if it fails."""
        assert all(isinstance(word, str) for word in command), (
            f"expected a list of strings, yours is {command}"
        )
        run = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)  # noqa: S603 - the learner's own command
        output = f"{run.stdout}\n{run.stderr}"
        assert 0 == run.returncode, f"{shlex.join(command)} failed:\n{output[-3000:]}"

    def _configured(self) -> Path:
        text = kata.cmake_lists(CMAKE, self.source.name, space(CMAKE))
        (self.folder / "CMakeLists.txt").write_text(text, encoding="utf-8")
        build = self.folder / "build"
        command = kata.configure_command(self.folder, build)
        self.run([*command, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"])
        return build

    def _built(self) -> Path:
        build = self.configured()
        self.run(kata.build_command(build))
        return build / f"{CMAKE}.so"

    def _loaded(self) -> Path:
        folder = self.folder / "load"
        folder.mkdir()
        kata.load_extension(JIT, self.source, space(JIT), folder)
        return folder / f"{JIT}.so"

    def _set_up(self) -> Path:
        folder = self.folder / "setup"
        folder.mkdir()
        arguments = kata.setup_arguments(SETUP, self.source, space(SETUP))
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)  # setuptools leaves files in the current folder
            # Python itself may have been built with -O3, and would pass it on.
            patch.setenv("CFLAGS", "-O1")
            patch.setenv("CXXFLAGS", "-O1")
            distribution = setuptools.Distribution(arguments)
            command = distribution.get_command_obj("build_ext")
            command.build_lib, command.build_temp = str(folder / "lib"), str(folder / "objects")
            distribution.run_command("build_ext")
        return folder / "lib" / f"{SETUP}.so"


# One for the session: a process can register an operator once, and tests of other modules may
# run between two of these tests.
@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """Return the folder of this run; nothing of the exercise is called yet."""
    return Workshop(tmp_path_factory.mktemp("build"))


@pytest.fixture(autouse=True)
def no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep files that are built without a folder out of the home directory."""
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "extensions"))


def operator(name: str) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return the operator of a build that is loaded."""
    found = getattr(getattr(torch.ops, space(name)), "squared_relu", None)
    assert found is not None, f"no operator squared_relu is registered in {space(name)}"
    return found


def listing(folder: Path) -> list[str]:
    """Return the names of the libraries below a folder."""
    return sorted(file.name for file in folder.rglob("*") if ".so" in file.suffixes)


def works(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """Compare the operator with PyTorch's two."""
    for x in (torch.randn(3, 4), torch.randn(4, 3).t(), torch.empty(0)):
        torch.testing.assert_close(
            function(x),
            x.relu().square(),
            rtol=0,
            atol=0,
            msg=lambda found: f"the operator is not PyTorch's relu and square: {found}",
        )
    with pytest.raises(RuntimeError, match="squared_relu: expected float32"):
        function(torch.zeros(2, dtype=torch.float64))


def check_flags(flags: list[str], name: str, standard: str) -> None:
    """Check the flags that all builds need; the last -O wins, and the last standard."""
    levels = [flag for flag in flags if flag.startswith("-O")]
    standards = [flag for flag in flags if flag.startswith("-std=")]

    assert f"-DKATA_NAMESPACE={space(name)}" in flags, (
        f"KATA_NAMESPACE is not {space(name)}, the compiler was given {flags}"
    )
    assert ["-O3"] == levels[-1:], f"expected -O3 as the last level, which wins, yours are {levels}"
    known = (f"-std={standard}", f"-std={standard.replace('c', 'gnu')}")
    assert "".join(standards[-1:]) in known, f"expected {standard}, found {standards}"


def flags_of_ninja(file: Path) -> list[str]:
    """Return the compiler's flags in a file that cpp_extension wrote for Ninja."""
    text = file.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith(("cflags", "post_cflags"))]
    return shlex.split(" ".join(line.partition("=")[2] for line in lines))


def test_the_texts_follow_the_arguments() -> None:
    """The text names the given project, file and namespace, and no folder."""
    text = kata.cmake_lists("tanh_shrink", "kernel.cpp", "somewhere")
    command = kata.configure_command(Path("/here"), Path("/there"))

    for word in ("tanh_shrink", "kernel.cpp", "KATA_NAMESPACE=somewhere"):
        assert word in text, f"{word} is missing from\n{text}"
    for folder in (torch.utils.cmake_prefix_path, str(Path(torch.__file__).parent)):
        assert folder not in text, (
            f"the text names {folder}, expected no folder: the command names it\n{text}"
        )
    for folder in ("/here", "/there"):
        assert any(word.endswith(folder) for word in command), f"{folder} is not in {command}"
    optimized = any(re.search("CMAKE_BUILD_TYPE(:STRING)?=Release$", word) for word in command)
    assert optimized, f"the command should set the build type, which is not in {command}"
    oldest = re.search(r"cmake_minimum_required\s*\(\s*VERSION\s+3\.(\d+)", text, re.IGNORECASE)
    assert oldest, f"cmake_minimum_required(VERSION 3.18) is missing from\n{text}"
    assert int(oldest[1]) <= 18, f"your project requires CMake 3.{oldest[1]}, expected at most 3.18"
    command = kata.build_command(Path("/there"))
    assert "/there" in command, f"the folder /there is not in {command}"
    tools = [Path(word).name.partition(".")[0] for word in command]
    assert "cmake" in tools, f"expected cmake in {command}: CMake knows which generator it used"


@needs_cmake
@slow
def test_cmake_finds_torch(workshop: Workshop) -> None:
    """CMake finds the PyTorch that runs these tests, by PyTorch's own CMake files."""
    build = workshop.configured()
    lines = (build / "CMakeCache.txt").read_text(encoding="utf-8").splitlines()
    cached = dict(line.split("=", 1) for line in lines if "=" in line)
    # The type is PATH if CMake has looked for Torch, and UNINITIALIZED if the command names it.
    found = cached.get("Torch_DIR:PATH", cached.get("Torch_DIR:UNINITIALIZED", ""))
    compilers = [name for name in cached if re.match("CMAKE_[A-Za-z]+_COMPILER:", name)]

    assert found, "CMake has not looked for the Torch package: find_package(Torch REQUIRED)"
    assert Path(torch.utils.cmake_prefix_path, "Torch").samefile(found), (
        f"CMake found Torch in {found}, expected the one that runs these tests"
    )
    assert (build / "build.ninja").is_file(), (
        "no build.ninja: CMake generated files for something other than Ninja"
    )
    assert len(compilers) == 1, f"expected only C++ to be enabled, but CMake looks for {compilers}"


@needs_cmake
@slow
def test_cmake_fails_without_torch(workshop: Workshop, tmp_path: Path) -> None:
    """Without PyTorch, CMake fails while it configures, and names Torch: REQUIRED."""
    workshop.configured()
    (tmp_path / "CMakeLists.txt").write_text(
        kata.cmake_lists(CMAKE, "squared_relu.cpp", space(CMAKE)), encoding="utf-8"
    )
    (tmp_path / "squared_relu.cpp").write_text(kata.SOURCE, encoding="utf-8")
    command = ["cmake", "-S", str(tmp_path), "-B", str(tmp_path / "build"), "-G", "Ninja"]
    command += ["-DCMAKE_DISABLE_FIND_PACKAGE_Torch=ON"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - CMake itself

    assert 0 != run.returncode, f"CMake went on without PyTorch, expected an error:\n{run.stdout}"
    assert "Torch" in run.stderr, f"CMake fails for another reason:\n{run.stderr}"


@needs_cmake
@slow
def test_cmake_compiles_as_asked(workshop: Workshop) -> None:
    """CMake compiles with -O3, C++20, the namespace, and PyTorch's headers."""
    file = workshop.configured() / "compile_commands.json"
    commands: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))

    files = [command["file"] for command in commands]
    assert [str(workshop.source)] == files, f"your project compiles {files}, expected one source"
    flags = shlex.split(commands[0]["command"])
    check_flags(flags, CMAKE, "c++20")
    assert "-DNDEBUG" in flags, f"-DNDEBUG is missing, so not a Release build: {flags}"
    include = str(Path(torch.utils.cmake_prefix_path).parents[1] / "include")
    folders = [flag.removeprefix("-I") for flag in flags]
    assert include in folders, "PyTorch's headers are missing: they come with ${TORCH_LIBRARIES}"


# Pretends that the compiler is from 2018: CMake reads this after it has examined the compiler.
OLD_COMPILER = """\
foreach(standard 20 23 26)
  unset(CMAKE_CXX${standard}_STANDARD_COMPILE_OPTION)
  unset(CMAKE_CXX${standard}_EXTENSION_COMPILE_OPTION)
  list(REMOVE_ITEM CMAKE_CXX_COMPILE_FEATURES cxx_std_${standard})
endforeach()
set(CMAKE_CXX_STANDARD_LATEST 17)
"""


@needs_cmake
@slow
def test_cmake_fails_without_cxx20(workshop: Workshop, tmp_path: Path) -> None:
    """Without an error, CMake would use the newest standard that it finds, which is too old."""
    workshop.configured()
    text = kata.cmake_lists(CMAKE, "squared_relu.cpp", space(CMAKE))
    (tmp_path / "CMakeLists.txt").write_text(text, encoding="utf-8")
    (tmp_path / "squared_relu.cpp").write_text(kata.SOURCE, encoding="utf-8")
    (tmp_path / "old.cmake").write_text(OLD_COMPILER, encoding="utf-8")
    build = tmp_path / "build"
    command = kata.configure_command(tmp_path, build)
    command += [f"-DCMAKE_USER_MAKE_RULES_OVERRIDE_CXX={tmp_path / 'old.cmake'}"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - the learner's own command

    # A flag set by hand is an error later, by the compiler.
    late = run.returncode == 0 and re.search(
        r"-std=(c|gnu)\+\+20", (build / "build.ninja").read_text(encoding="utf-8")
    )
    assert run.returncode or late, (
        f"the compiler does not know C++20, but CMake went on with an older standard:\n{text}"
    )
    known = re.search("CXX20|cxx_std_20", run.stderr)
    assert late or known, f"CMake fails for another reason:\n{run.stderr}"


@needs_cmake
@slow
def test_cmake_builds_one_library(workshop: Workshop) -> None:
    """CMake builds a library with the given name, and nothing else."""
    library = workshop.built()
    found = listing(library.parent)

    assert [library.name] == found, f"your build produced {found}, expected {library.name}"
    assert library.is_file(), f"{library} does not exist: it was built in another folder"
    rules = (library.parent / "build.ninja").read_text(encoding="utf-8")
    assert "CXX_MODULE_LIBRARY_LINKER" in rules, "expected a library of the kind MODULE"


@needs_cmake
@slow
def test_cmakes_library_finds_torch_by_itself(workshop: Workshop) -> None:
    """The library names what it needs and where that is: any program can load it."""
    program = "import ctypes, sys; ctypes.CDLL(sys.argv[1])"
    command = [sys.executable, "-c", program, str(workshop.built())]
    run = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - Python itself

    assert 0 == run.returncode, f"a program without PyTorch cannot load the library:\n{run.stderr}"


@needs_cmake
@slow
def test_cmakes_library_works(workshop: Workshop) -> None:
    """Loaded by torch.ops.load_library, the library registers the operator."""
    torch.ops.load_library(str(workshop.built()))

    works(operator(CMAKE))


@needs_ninja
@slow
def test_load_builds_and_loads(workshop: Workshop) -> None:
    """The library is built in the given folder, and no module is imported."""
    library = workshop.loaded()

    found = listing(workshop.folder / "load")
    assert [library.name] == found, f"load left {found}, expected {library.name}"
    assert JIT not in sys.modules, f"{JIT} was imported: it is a library, not a module"
    works(operator(JIT))


@needs_ninja
@slow
def test_load_compiles_as_asked(workshop: Workshop) -> None:
    """Pass -O3 to load, whose default has no optimization; PyTorch chooses the standard."""
    flags = flags_of_ninja(workshop.loaded().with_name("build.ninja"))
    check_flags(flags, JIT, compat.EXTENSION_STANDARD)


def test_setup_has_one_extension() -> None:
    """BuildExtension builds the extension, which is not tied to one version of Python."""
    arguments = kata.setup_arguments("other", Path("other.cpp"), "elsewhere")
    modules, command = arguments["ext_modules"], arguments["cmdclass"]["build_ext"]

    names = [module.name for module in modules]
    project = arguments.get("name", "other")
    assert "other" == project, f"the project is called {project!r}, expected 'other'"
    assert ["other"] == names, f"the extension modules are {names}, expected ['other']"
    assert ["other.cpp"] == modules[0].sources, (
        f"its sources are {modules[0].sources}, expected ['other.cpp']"
    )
    assert issubclass(command, cpp_extension.BuildExtension), (
        f"expected BuildExtension as build_ext, yours is {command}"
    )
    libraries = modules[0].libraries
    assert "torch_cpu" in libraries, (
        f"your libraries are {libraries}, expected PyTorch's too, which CppExtension adds"
    )
    assert "torch_python" not in modules[0].libraries, (
        "your extension links torch_python, but the source does not use Python"
    )


@needs_ninja
@slow
def test_setup_builds_one_library(workshop: Workshop) -> None:
    """The file's name has no version of Python: the library is not a Python module."""
    library = workshop.set_up()
    found = listing(library.parent)

    assert [library.name] == found, f"your build produced {found}, expected {library.name}"


@needs_ninja
@slow
def test_setup_compiles_as_asked(workshop: Workshop) -> None:
    """The flags of the Python that runs the build come first, those of the extension last."""
    workshop.set_up()
    files = list((workshop.folder / "setup").rglob("build.ninja"))

    assert 1 == len(files), "expected one build.ninja: BuildExtension builds with Ninja"
    check_flags(flags_of_ninja(files[0]), SETUP, compat.EXTENSION_STANDARD)


@needs_ninja
@slow
def test_setups_library_works(workshop: Workshop) -> None:
    """The library from setuptools loads like the others, into the same process."""
    torch.ops.load_library(str(workshop.set_up()))

    works(operator(SETUP))
