"""That docs/pictures/house.svg is what tools/house draws of this tree, and that it draws what is there."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PICTURE = "docs/pictures/house.svg"


def house(*arguments):
    return subprocess.run([sys.executable, ROOT / "tools/house", *arguments], capture_output=True, text=True, check=False)


class Committed(unittest.TestCase):
    def test_it_is_what_the_includes_say(self):
        done = house("--check")
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class OfATree(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)
        self.write("core/CMakeLists.txt", "foreach(part base config text)\n")
        self.write("core/README.md", "1. `text/` says.\n2. `config/` is read.\n10. `base/` is there.\n")
        self.write("core/base/CMakeLists.txt", "target_sources(medley_base PRIVATE a.cc)\n")
        self.write("core/config/CMakeLists.txt", "target_sources(medley_base PRIVATE a.cc)\n")
        self.write("core/text/CMakeLists.txt", "target_sources(medley_base PRIVATE a.cc)\ntarget_sources(medley PRIVATE b.cc)\n")
        self.write("core/config/a.cc", "#include <medley/config/a.h>\n#include <medley/base/a.h>\n")
        self.write("core/text/deep/b.cu", "  #  include <medley/config/a.h>\n// #include <medley/base/a.h>\n")
        self.write("tasks/one/one.cc", "#include <medley/base/a.h>\n")
        self.write("tasks/one/build/made.cc", "#include <medley/config/a.h>\n")
        self.write("docs/pictures/none", "")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def dots(self):
        """How many of near and of far."""
        done = house(self.root)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        drawn = (self.root / PICTURE).read_text()
        return [len(re.findall(f'<circle class="{style}"', drawn)) - 1 for style in ("near", "far")]  # one is the legend's

    def test_each_folder_that_is_included_is_a_dot(self):
        self.assertEqual(self.dots(), [3, 0])
        self.write("core/text/c.h", '#include "medley/base/a.h"\n')
        self.assertEqual(house("--check", self.root).returncode, 1)
        self.assertEqual(self.dots(), [3, 1])
        self.assertEqual(house("--check", self.root).returncode, 0)

    def test_the_way_is_that_of_the_readme(self):
        self.dots()
        drawn = (self.root / PICTURE).read_text()
        self.assertEqual(re.findall(r'class="number(?: outer)?">(\d+)<', drawn), ["1", "2", "10"])
        self.assertEqual(drawn.count('<path class="way"'), 2)

    def test_what_has_no_tensors_is_told_apart(self):
        self.dots()
        drawn = (self.root / PICTURE).read_text()
        self.assertEqual([drawn.count(f'<rect class="{style}"') - 1 for style in ("plain", "tensor", "around")], [2, 1, 1])

    def test_a_folder_without_words_is_named(self):
        self.write("core/CMakeLists.txt", "foreach(part base config text attic)\n")
        done = house(self.root)
        self.assertEqual(done.returncode, 1)
        self.assertIn("attic: no words for it", done.stderr)

    def test_without_a_picture_the_check_fails(self):
        done = house("--check", self.root)
        self.assertEqual(done.returncode, 1)
        self.assertIn("run tools/house", done.stderr)


if __name__ == "__main__":
    unittest.main()
