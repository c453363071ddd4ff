"""What travels to a machine that has torch alone: the install tree, the libraries that it lacks, this script."""
import json
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

# The machine's own: glibc's and the compiler's must be no older than what its torch needs.
SYSTEM = re.compile(r"(ld-linux.*|lib(c|m|dl|rt|util|pthread|stdc\+\+|gcc_s))\.so")
TOOLS = Path(__file__).resolve().parent.parent


def needed(file):
    """The libraries that the loader looks for: name and path, "not" where it finds none."""
    out = subprocess.run(["ldd", file], capture_output=True, text=True, check=False).stdout
    return re.findall(r"^\s*(\S+) => (\S+)", out, re.M)


def names_of_torch(torch):
    """What a torch brings, by name: its own libraries, and what they need, which comes with the wheels beside it; a set-up without a GPU
    leaves most of that out. By name, because what is ours may be linked to a toolkit's copy."""
    folder = torch / "lib"
    libraries = [*folder.glob("libtorch*.so"), *folder.glob("libc10*.so")]
    return {file.name for file in folder.glob("*.so*")} | {name for library in libraries for name, _ in needed(library)}


def carry_libraries(folder):
    """Into carried/ what is neither ours, nor torch's, nor any system's."""
    told = subprocess.run([folder / "bin/medley", "version", "--json"], capture_output=True, check=True).stdout
    theirs = names_of_torch(Path(json.loads(told)["libtorch"]["root"]))
    carried = folder / "carried"
    carried.mkdir(exist_ok=True)
    for file in [*(folder / "bin").iterdir(), *folder.rglob("*.so")]:
        for name, path in needed(file):
            if path.startswith("/") and name not in theirs and not Path(path).is_relative_to(folder) and not SYSTEM.match(name):
                shutil.copy2(path, carried / name)


def make_bundle(build, folder):
    subprocess.run(["cmake", "--install", build, "--prefix", folder, "--strip"], check=True, stdout=subprocess.DEVNULL)
    # No parts of an installation: the one program that makes several runs in one process, and those that ask NCCL and the kernels alone.
    # And a task of long texts.
    for name in ("bin/medley_bench_memory", "bin/medley_bench_exchange", "bin/medley_bench_kernels", "bin/medley_bench_gpu",
                 "lib/medley/bench/long_text.so"):
        if not (build / name).exists():  # tools/build leaves them out
            subprocess.run(["cmake", "--build", build, "--target", Path(name).stem], check=True, stdout=subprocess.DEVNULL)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(build / name, folder / name)
    carry_libraries(folder)
    is_debian = shutil.which("dpkg-query") is not None  # elsewhere texts are missing
    subprocess.run([sys.executable, TOOLS / "check-licenses", folder], check=is_debian)
    memory, headers = TOOLS.parent / "core/memory", folder / "cuda/medley/memory"
    headers.mkdir(parents=True)
    shutil.copy2(memory / "live_blocks.h", headers)  # no part of an installation either
    shutil.copy2(memory / "live_blocks_cuda.cc", folder / "cuda")
    shutil.copy2(TOOLS / "gpu-check", folder)
    shutil.copytree(TOOLS / "gpu_check", folder / "gpu_check", ignore=shutil.ignore_patterns("__pycache__"))


def of_nobody(info):
    """A plugin of a user who is neither root nor the one who runs it is refused."""
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info


def pack(folder, file):
    with tarfile.open(file, "w:xz") as tar:
        tar.add(folder, arcname="medley", filter=of_nobody)
    print(f"{file}: {Path(file).stat().st_size / 2**20:.1f} MiB")


def unpack(file, folder):
    safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    with tarfile.open(file) as tar:
        tar.extractall(folder, **safely)
    return folder / "medley"
