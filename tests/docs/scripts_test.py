"""What tests/docs/links, tests/docs/compatibility and tools/prose find in pages that are wrong, and that they find nothing in good ones."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class InATree(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.root = pathlib.Path(self.directory.name)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def run_script(self, script, *arguments):
        return subprocess.run([sys.executable, ROOT / script, *arguments], capture_output=True, text=True, check=False)


class Links(InATree):
    def setUp(self):
        super().setUp()
        self.write("README.md", "# medley\n\nThe [index](docs/README.md), `core/one.h`.\n")
        self.write("docs/README.md", "[a](a.md), [out](https://example.org/docs/none.md)\n")
        self.write("docs/a.md", "# One [thing](#one-thing-twice), `twice`\n## Twice!\n## Twice\n[up](../README.md#medley)\n"
                                "[here](#twice-1) ![a picture](p.png)\n```\n# no heading [nor](link.md)\n```\n")
        self.write("docs/p.png", "")
        self.write("core/one.h", "// see docs/a.md#twice\n")

    def found(self):
        done = self.run_script("tests/docs/links", self.root)
        lines = done.stdout.splitlines()
        self.assertEqual(done.returncode, 1 if len(lines) > 1 else 0, done.stdout + done.stderr)
        return lines[:-1]

    def test_nothing_is_wrong(self):
        self.assertEqual(self.found(), [])

    def test_excerpts(self):
        self.write("core/one.h", "int a;\n\nint b;\n  int c;\n")
        self.write("docs/a.md", "```cpp from=core/one.h\nint a;\n\nint b;\n  int c;\n```\n")
        self.write("README.md", "# medley\n")
        self.assertEqual(self.found(), [])
        self.write("docs/a.md", "```cpp from=core/one.h\nint a;\n\nint c;\n```\n```cpp from=core/two.h\nint a;\n```\n")
        self.assertEqual(self.found(), ["docs/a.md: core/one.h has no such lines: int c;",
                                        "docs/a.md: core/two.h has no such lines: int a;"])

    def test_each_way_to_lead_nowhere(self):
        self.write("docs/a.md", "# Twice\n[x](gone.md) [y](#gone) ![z](gone.png) `tools/gone` [r](../README.md#gone)\n")
        self.write("docs/b.md", "not in the index")
        self.write("SECURITY.md", "`core/gone.h`")
        self.write("core/one.h", 'Error("docs/gone.md says why, docs/a.md#gone too") // docs/none.mdx, mydocs/gone.md\n')
        self.write("build/two.h", "// docs/gone.md\n")
        self.assertEqual(self.found(), [
            "SECURITY.md:1: there is no core/gone.h",
            "core/one.h:1: there is no docs/gone.md", "core/one.h:1: docs/a.md has no heading #gone",
            "docs/a.md:2: there is no docs/gone.md", "docs/a.md:2: docs/a.md has no heading #gone",
            "docs/a.md:2: there is no docs/gone.png", "docs/a.md:2: README.md has no heading #gone",
            "docs/a.md:2: there is no tools/gone", "docs/README.md: does not name docs/b.md"])


class Compatibility(InATree):
    ROW = "| the plan | 2 | 1 | `core/plan.cc: kPlanFormat` | 1 too |\n"
    SECTION = '| its state | 1 | - | `core/state.cc: "steps"` | this alone |\n'
    REFUSED = "\n## What is refused\n\n| words | when |\n|---|---|\n| `the plan of \"…\" has format …, take another` | x |\n"

    def setUp(self):
        super().setUp()
        self.write("core/plan.cc", 'constexpr int kPlanFormat = 2;\nError("the plan of \\"" + name + "\\" has "\n  "format " + n + ", take another");\n')
        self.write("core/state.cc", 'sections.push_back(\n  {"steps", 1, [] {}});\n')
        self.write("python/a.py", "LIMIT = 1\n")

    def found(self, page):
        self.write("docs/compatibility.md", page)
        done = self.run_script("tests/docs/compatibility", self.root)
        lines = done.stdout.splitlines()
        self.assertEqual(done.returncode, 1 if len(lines) > 1 else 0, done.stdout + done.stderr)
        return [line.split(": ", 1)[1] for line in lines[:-1]]

    def test_nothing_is_wrong(self):
        self.assertEqual(self.found(self.ROW + self.SECTION + self.REFUSED), [])

    def test_each_way_to_differ(self):
        other = self.ROW.replace("| 2 | 1 |", "| 1 | 3 |")
        self.assertEqual(self.found(other + self.SECTION), ["kPlanFormat of core/plan.cc is 2, not 1", "kPlanFormat was 3 before, and is 2"])
        self.assertEqual(self.found(""), ["lacks kPlanFormat of core/plan.cc", 'lacks "steps" of core/state.cc'])
        gone = self.ROW.replace("core", "gone") + self.ROW + self.SECTION
        self.assertEqual(self.found(gone), ["gone/plan.cc has no number behind kPlanFormat"])
        words = self.REFUSED.replace("take another", "make another")
        self.assertEqual(self.found(self.ROW + self.SECTION + words), ["nothing in the source says: , make another"])
        self.write("python/a.py", "_STATE_VERSION = 1\n")
        self.assertEqual(self.found(self.ROW + self.SECTION), ["lacks _STATE_VERSION of python/a.py"])


class Prose(InATree):
    def said(self, text, *options):
        done = self.run_script("tools/prose", *options, self.write("page.md", text))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_counts_words_of_paragraphs_and_items(self):
        short = "One two three. " * 10  # 30 words
        self.assertIn("0 too long", self.said(f"# {short * 9}\n\n{short}\n\n    {short * 9}\n\n```\n{short * 9}\n```\n| {short * 9} |\n"))
        # 3, 42 and 45 words, the last over two lines: 42 in the middle.
        page = self.said(f"- One two three.\n- {'One two three. ' * 14}\n\n{'One two three. ' * 14}\nOne [two](http://three) three.\n")
        self.assertIn("a paragraph has 42 words in the median (wanted: 40), a sentence 3 at", page)

    def test_counts_words_of_sentences(self):
        nine = "A short one. " * 9
        long = "word " * 28
        self.assertIn("0 too long", self.said(f"{nine}\n\nA {long.strip()}.\n" + f"\n{nine}\n"))
        page = self.said(f"{'A short one. ' * 8}\n\nA {long.strip()}.\n", "--long")
        self.assertIn("a sentence 29 at the ninetieth percentile (28)", page)
        self.assertIn("  29 words: A word word", page)


if __name__ == "__main__":
    unittest.main()
