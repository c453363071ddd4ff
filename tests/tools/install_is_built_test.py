"""What tests/tools/install_is_built finds in projects that build other things than they install."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]

PROJECT = """cmake_minimum_required(VERSION 3.24)
project(tiny LANGUAGES NONE)
function(library name)
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/${name}.so COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/${name}.so VERBATIM)
  add_custom_target(${name} ALL DEPENDS ${CMAKE_BINARY_DIR}/${name}.so)
endfunction()
file(WRITE ${CMAKE_BINARY_DIR}/configured.txt "")
install(FILES ${CMAKE_BINARY_DIR}/configured.txt TYPE DATA)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/tools TYPE DATA FILES_MATCHING PATTERN "*.txt")
add_subdirectory(core)
add_subdirectory(tests)
"""
BUILD = """#!/bin/sh
set -e
cd "$(dirname "$0")/.."
tools/setup
cmake --preset release >/dev/null
cmake --build --preset release """


class Projects(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name).resolve()
        self.write("CMakeLists.txt", PROJECT)
        self.write("core/CMakeLists.txt", "library(one)\ninstall(PROGRAMS ${CMAKE_BINARY_DIR}/one.so TYPE LIB)\n")
        self.write("tests/CMakeLists.txt", "library(one_test)\n")
        self.write("tools/build", BUILD + "--target core/all\n").chmod(0o755)

    def write(self, name, text):
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def add(self, name, text):
        self.write(name, (self.root / name).read_text() + text)

    def found(self):
        """Its lines, without the paths of this test."""
        build = self.root / "build"
        subprocess.run(["cmake", "-G", "Ninja", "-S", self.root, "-B", build], check=True, stdout=subprocess.DEVNULL)
        done = subprocess.run([sys.executable, HERE / "install_is_built", self.root, build], capture_output=True, text=True, check=False)
        self.assertTrue(done.stdout, done.stderr)
        lines = done.stdout.replace(f"{build}/", "").splitlines()
        self.assertEqual(done.returncode, 0 if lines[0].endswith("and nothing else") else 1, done.stdout + done.stderr)
        return lines

    def test_nothing_is_wrong(self):
        self.assertEqual(self.found(), ["tools/build (core/all) makes the 1 files that are built and installed, and nothing else"])

    def test_what_is_installed_and_of_another_folder(self):
        self.add("tests/CMakeLists.txt", "install(FILES ${CMAKE_BINARY_DIR}/one_test.so TYPE LIB OPTIONAL)\n")
        self.assertEqual(self.found(), ["install() names one_test.so, which tools/build (core/all) does not make"])

    def test_what_is_installed_and_not_built_unasked(self):
        self.add("core/CMakeLists.txt", "library(two)\nset_target_properties(two PROPERTIES EXCLUDE_FROM_ALL TRUE)\n"
                                        "install(FILES ${CMAKE_BINARY_DIR}/two.so TYPE LIB)\n")
        self.assertEqual(self.found(), ["install() names two.so, which tools/build (core/all) does not make"])

    def test_what_is_installed_and_made_by_nobody(self):
        self.add("core/CMakeLists.txt", "install(FILES ${CMAKE_BINARY_DIR}/three.so ${CMAKE_SOURCE_DIR}/CMakeLists.txt TYPE LIB)\n")
        self.assertEqual(self.found(), ["install() names three.so, which nothing makes"])

    def test_what_is_built_and_not_installed(self):
        self.write("tools/build", BUILD + "--target core/all tests/all --parallel 1\n")
        lines = self.found()
        self.assertEqual(len(lines), 1)
        self.assertIn("tools/build (core/all tests/all) makes what no installed file needs: 1 commands, such as: ", lines[0])
        self.assertIn("one_test.so", lines[0])

    def test_a_build_without_targets_is_one_of_all(self):
        self.write("tools/build", BUILD + "\n")
        self.assertIn("tools/build (all) makes what no installed file needs: ", self.found()[0])

    def test_what_a_target_only_waits_for_is_made_by_it(self):
        self.add("tests/CMakeLists.txt", "install(FILES ${CMAKE_BINARY_DIR}/one_test.so TYPE LIB)\nadd_dependencies(one one_test)\n")
        self.write("tools/build", BUILD + "-t one\n")
        self.assertEqual(self.found(), ["tools/build (one) makes the 2 files that are built and installed, and nothing else"])


if __name__ == "__main__":
    unittest.main()
