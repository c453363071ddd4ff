"""Everything of others that an installation is linked to, or that is compiled into it, has its licence there: licenses_test.py BUILD."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop(1))
TEXTS = "share/doc/medley/licenses"
# What sources include, by the first part of its name, and whose licence goes along.
COMPILED_IN = {"ATen": "torch", "c10": "torch", "torch": "torch", "kineto": "torch", "CLI": "CLI11", "nlohmann": "nlohmann_json", "protozero": "protozero",
               "spdlog": "libspdlog", "openssl": "libcrypto", "png.h": "libpng16", "jpeglib.h": "libjpeg", "jerror.h": "libjpeg", "pcre2.h": "libpcre2-8",
               "utf8proc.h": "libutf8proc", "xxhash.h": "libxxhash", "sentencepiece_processor.h": "libsentencepiece",
               "sentencepiece_trainer.h": "libsentencepiece_train"}
ASKS_NOTHING = {"boost", "Python.h", "cuda_runtime.h", "cuda_bf16.h", "cuda_fp16.h"}  # of programs that are compiled with it
OWN = {"medley", "medley_headers.h", "gloo"}  # gloo: core/cluster/gloo_stand_in
SYSTEM = set("arpa dirent.h dlfcn.h elf.h fcntl.h fnmatch.h grp.h ifaddrs.h link.h linux malloc.h net netdb.h netinet poll.h pthread.h pwd.h sched.h "
             "spawn.h stdio_ext.h stdlib.h string.h sys termios.h time.h unistd.h emmintrin.h immintrin.h cxxabi.h".split())


@unittest.skipUnless(shutil.which("dpkg-query"), "this is no Debian, whose packages have the texts")
class Licenses(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.directory.cleanup)
        cls.prefix = pathlib.Path(cls.directory.name) / "prefix"
        subprocess.run(["cmake", "--install", BUILD, "--prefix", cls.prefix], check=True, stdout=subprocess.DEVNULL)

    def check(self, code):
        done = subprocess.run([ROOT / "tools/check-licenses", self.prefix], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def test_a_library_without_one_is_named_and_one_without_a_library(self):
        self.check(0)
        for name in ("libcrypto", "libfmt"):  # which medley is linked to, and which that is
            text = self.prefix / TEXTS / name
            kept = text.read_bytes()
            text.write_bytes(b"")
            self.assertIn(f"linked to {name}, whose licence does not lie", self.check(1))
            text.write_bytes(kept)
        other = self.prefix / TEXTS / "libother"
        other.write_text("Any.\n")
        self.assertIn("a licence of libother, to which nothing is linked", self.check(1))
        other.unlink()
        own = self.prefix / "share/doc/medley/LICENSE"
        self.assertEqual(own.read_text(), (ROOT / "LICENSE").read_text())
        own.rename(own.with_suffix(".aside"))
        self.assertIn("medley's own LICENSE is missing", self.check(1))
        own.with_suffix(".aside").rename(own)
        self.check(0)

    def test_headers_that_are_compiled_in_have_theirs(self):
        texts = {file.name for file in (self.prefix / TEXTS).iterdir()}
        for folder in ("core", "tasks", "python", "tools/medley"):
            for file in (file for file in (ROOT / folder).rglob("*") if file.suffix in (".cc", ".h", ".cu")):
                for header in re.findall(r"^\s*#\s*include <([^>]+)>", file.read_text(), re.MULTILINE):
                    whose = header.split("/")[0]
                    if whose in OWN | SYSTEM | ASKS_NOTHING or ("/" not in header and "." not in header):
                        continue
                    self.assertIn(whose, COMPILED_IN, f"{file}: whose is <{header}>? cmake/MedleyLicenses.cmake has the list of licences")
                    if COMPILED_IN[whose] != "torch":  # which is no wheel everywhere
                        self.assertIn(COMPILED_IN[whose], texts, f"{file}: <{header}>")


if __name__ == "__main__":
    unittest.main()
