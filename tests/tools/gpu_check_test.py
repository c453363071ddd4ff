"""What tools/gpu-check packs, and in which order its programs look for libraries. The libraries here are empty."""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools"))
# pylint: disable=wrong-import-position
from gpu_check.bundle import carry_libraries
from gpu_check.session import Session


class Libraries(unittest.TestCase):
    """A medley that was built with a torch without CUDA's libraries, and with those of a toolkit elsewhere."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)
        self.torch = self.root / "torch"
        self.bundle = self.root / "bundle"
        runtime = self.library("toolkit/libcudart.so.13")
        self.library("torch/lib/libtorch_cpu.so", self.library("system/libgomp.so.1"))
        self.library("torch/lib/libgomp.so.1")
        # As after a set-up without a GPU: the runtime is with the wheel's parts, the rest is nowhere.
        self.library("torch/lib/libtorch_cuda.so", self.library("nvidia/lib/libcudart.so.13"), self.library("gone/libcublas.so.13"))
        (self.root / "gone/libcublas.so.13").unlink()
        self.library("bundle/lib/libmedley_base.so", self.root / "system/libgomp.so.1", self.library("system/libpng16.so.16"))
        self.library("bundle/lib/medley/medley_kernels.so", runtime, self.bundle / "lib/libmedley_base.so")
        (self.bundle / "bin").mkdir()
        command = self.bundle / "bin/medley"
        command.write_text(f'#!/bin/sh\necho \'{{"libtorch": {{"root": "{self.torch}"}}}}\'\n')
        command.chmod(0o755)

    def library(self, name, *needs):
        """Makes one that finds what it needs where that was made."""
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        paths = [f"-Wl,--enable-new-dtags,-rpath,{library.parent}" for library in needs]
        subprocess.run(["cc", "-shared", "-nostdlib", "-x", "c", "/dev/null", "-x", "none", f"-Wl,-soname,{file.name}", "-Wl,--no-as-needed",
                        *needs, *paths, "-o", file], check=True)
        return file

    def environment(self):
        args = argparse.Namespace(device="cpu", size=None, torch=str(self.torch), kernels=None)
        with unittest.mock.patch.dict("os.environ", LD_LIBRARY_PATH="/of/the/user"):
            return Session(args, self.bundle, self.root).environment(None)

    def test_the_bundle_holds_nothing_that_torch_brings(self):
        carry_libraries(self.bundle)
        self.assertEqual([file.name for file in (self.bundle / "carried").iterdir()], ["libpng16.so.16"])

    def test_nothing_is_looked_for_before_torchs_own(self):
        program = self.library("bundle/lib/medley/program.so", self.library("bundle/carried/libgomp.so.1"))
        found = subprocess.run(["ldd", program], env=self.environment(), capture_output=True, text=True, check=True).stdout
        self.assertEqual(re.findall(r"libgomp.so.1 => (\S+)", found), [str(self.torch / "lib/libgomp.so.1")])


if __name__ == "__main__":
    unittest.main()
