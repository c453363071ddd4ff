"""How pip builds medley: scikit-build-core, which is told where libtorch lies.

`pip install .` builds the whole tree (the packages of tools/setup must be there) with the torch of MEDLEY_TORCH_ROOT, of the Python that pip
runs in, or of the clone's .venv; only where none of these is the release that medley needs does pip fetch one for the build.
`-C medley.build=DIR` makes the wheel of a build tree that there is, and compiles nothing: tools/wheel.
"""
import importlib.util
import os
import pathlib
import re
import sysconfig

from scikit_build_core import build as skbuild

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = "medley.build"


def torch_release():
    """The one that the wheel depends on."""
    return re.search(r'"torch==([0-9.]+)"', (SOURCE / "pyproject.toml").read_text(encoding="utf-8")).group(1)


def _is_wanted(root):
    version = pathlib.Path(root) / "version.py"
    found = re.search(r"^__version__ = '([0-9.]+)", version.read_text(encoding="utf-8"), re.MULTILINE) if version.is_file() else None
    return found is not None and found.group(1) == torch_release() and (pathlib.Path(root) / "lib/libtorch_cpu.so").exists()


def find_torch():
    """The folder of the libtorch to build with, or None. One that MEDLEY_TORCH_ROOT names is taken as it is: CMake says what it lacks."""
    named = os.environ.get("MEDLEY_TORCH_ROOT")
    if named:
        return os.path.abspath(named)
    spec = importlib.util.find_spec("torch")  # fetched for this build
    roots = list(spec.submodule_search_locations or []) if spec else []
    roots += [os.path.join(sysconfig.get_path(name), "torch") for name in ("platlib", "purelib")]  # of the Python that pip runs in
    roots += sorted(str(path) for path in SOURCE.glob(".venv/lib/python3*/site-packages/torch"))
    return next((root for root in roots if _is_wanted(root)), None)


def _jobs():
    """Two gigabytes each."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(len(os.sched_getaffinity(0)), memory // 2_000_000_000))


def _settings(settings):
    settings = dict(settings or {})
    build = settings.pop(BUILD, None)
    if build is not None:
        build = pathlib.Path(build).resolve()
        if not (build / "CMakeCache.txt").is_file():
            raise SystemExit(f"medley.build: {build} is no build tree; make one: tools/build")
        settings.update({"cmake.source-dir": "cmake/wheel", "cmake.define.MEDLEY_BUILD": str(build), "build-dir": str(build / "wheel"),
                         "build.targets": "all", "install.components": "Unspecified"})
        return settings
    os.environ.setdefault("CMAKE_BUILD_PARALLEL_LEVEL", str(_jobs()))
    root = find_torch()
    if root is not None:
        settings.setdefault("cmake.define.MEDLEY_TORCH_ROOT", root)
    return settings


def get_requires_for_build_wheel(config_settings=None):
    requires = skbuild.get_requires_for_build_wheel(_settings(config_settings))
    if BUILD not in (config_settings or {}) and find_torch() is None:
        requires.append(f"torch=={torch_release()}")
    return requires


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """Without it pip builds all of medley to learn its name."""
    return skbuild.prepare_metadata_for_build_wheel(metadata_directory, _settings(config_settings))


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    os.umask(0o022)  # medley refuses a plugin that others may write to
    return skbuild.build_wheel(wheel_directory, _settings(config_settings), metadata_directory)


def build_sdist(sdist_directory, config_settings=None):
    return skbuild.build_sdist(sdist_directory, config_settings)
