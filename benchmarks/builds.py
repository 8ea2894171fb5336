"""Another version of unitless, built from a commit in a temporary folder, to be measured next to the installed one.

It has a separate Python environment with all packages of this one, in which its own unitless comes first. The installed
version is that of the working tree, committed or not.
"""

from __future__ import annotations

import contextlib
import importlib.util
import multiprocessing.spawn
import os
import pathlib
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass

from unitless import _core

ROOT = pathlib.Path(__file__).parent.parent


@dataclass(frozen=True)
class Build:
    """A version of unitless: the commit, its Python, and the folder of its package."""

    commit: str
    python: pathlib.Path
    packages: pathlib.Path

    @contextlib.contextmanager
    def chosen(self) -> Iterator[None]:
        """Run processes of `multiprocessing` that are started inside with this version."""
        before = multiprocessing.spawn.get_executable()
        multiprocessing.spawn.set_executable(str(self.python))
        sys.path.insert(0, str(self.packages))  # a new process inherits this path
        try:
            yield
        finally:
            sys.path.remove(str(self.packages))
            multiprocessing.spawn.set_executable(before)


def _run(*command: str | pathlib.Path, what: str) -> str:
    """The output of a command. If it is interrupted, all processes that it has started (compilers) are ended."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen([*map(str, command)], text=True, start_new_session=True, **pipes)
    try:
        said, errors = process.communicate()
    except BaseException:
        os.killpg(process.pid, signal.SIGTERM)  # not a kill: ninja ends its compilers, which are not in this group
        process.communicate()  # until all that it has started have ended
        raise
    if process.returncode:
        sys.exit(f"{what} failed:\n{said[-3000:]}{errors[-3000:]}")
    return said.strip()


def resolved(commit: str) -> str:
    """The full name of a commit; ends the program with a message if there is none."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        sys.exit("--compare needs git")
    if done.returncode:
        reason = done.stderr.strip() or "see `git log` for those there are"
        sys.exit(f"--compare: there is no commit {commit!r} in {ROOT}: {reason}")
    return done.stdout.strip()


def stale() -> pathlib.Path | None:
    """A source file that was changed after the core was compiled, or None."""
    compiled = pathlib.Path(_core.__file__).stat().st_mtime
    sources = [path for path in (ROOT / "core").rglob("*") if path.suffix in (".hpp", ".cpp")]
    newest = max(sources, key=lambda path: path.stat().st_mtime)
    return newest if newest.stat().st_mtime > compiled else None


@contextlib.contextmanager
def built(commit: str) -> Iterator[Build]:
    """Compile the version of a commit now, and remove it afterwards."""
    full = resolved(commit)
    with tempfile.TemporaryDirectory(prefix="unitless-build-") as made:
        folder = pathlib.Path(made)
        archive, source, place = folder / "source.tar", folder / "source", folder / "python"
        _run("git", "-C", ROOT, "archive", "--format=tar", f"--output={archive}", full, what=f"git archive {full}")
        with tarfile.open(archive) as file:
            file.extractall(source, filter="data")
        _run(sys.executable, "-m", "venv", "--without-pip", place, what="making a Python for that commit")
        python = place / "bin" / "python"
        ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
        packages = pathlib.Path(_run(python, "-c", ask, what="the Python for that commit"))
        others = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
        (packages / "packages_of_the_benchmark.pth").write_text("\n".join(others) + "\n", encoding="utf-8")
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", packages, source]
        if importlib.util.find_spec("scikit_build_core") and importlib.util.find_spec("nanobind"):
            install.append("--no-build-isolation")  # the environment has the build requirements
        _run(*install, what=f"building {commit}")
        yield Build(commit, python, packages)
