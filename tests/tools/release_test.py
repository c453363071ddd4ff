"""What tools/release makes of a small tree, whose other tools are scripts; when it leaves all as it was; and what it would do with this tree."""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# A tool: says its call, fails where it is told to, and leaves what release looks for.
TOOL = """#!/usr/bin/env bash
set -eu
echo "$0 $*" >>"$CALLS"
mkdir -p build/package
number=$(sed -nE 's/^project.medley VERSION ([0-9.]+).*/\\1/p' CMakeLists.txt)
case ${FAILS:-} in "$0") exit 3 ;; "killed $0") kill -KILL $PPID; exit 1 ;; esac
"""
TOOLS = {"test": 'touch "${LEAVES:-build/log}"', "build": "git rev-parse HEAD >build/revision", "check-package": "",
         "check-wheel": ': "${MEANWHILE:=}"; eval "$MEANWHILE"', "setup": "", "package": "cp build/revision build/package/medley_${number}_amd64.deb", "gpu-check": 'cp build/revision "$2"',
         "wheel": "cp build/revision build/package/medley-$number-cp310.whl"}
MAKES_RUNS = 'for kind in ${KINDS-plain adapters}; do mkdir -p "tests/old_runs/$1/$kind"; echo "$number" >"tests/old_runs/$1/$kind/run.log"; done'
CALLS = ["tools/setup --python", "tools/test", "tests/old_runs/make 0.2.0", "tools/test -R OldRuns", "tools/build", "tools/package",
         "tools/check-package", "tools/wheel", "tools/check-wheel", "tools/gpu-check bundle"]
SECTION = "### For users\n\n- Runs are faster (#1).\n"
CHANGELOG = f"# What changed\n\n## 0.2.0 (not released yet)\n\n{SECTION}\n## 0.1.0 (2026-11-01)\n\n- The first.\n"
FILES = ["SHA256SUMS", "medley-0.2.0-cp310.whl", "medley-0.2.0-gpu-check.tar.xz", "medley-0.2.0.tar.gz", "medley_0.2.0_amd64.deb", "notes.md"]


class Tree(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.scratch = pathlib.Path(directory.name).resolve()
        self.root, self.calls = self.scratch / "tree", self.scratch / "calls"
        self.program(self.scratch / "stubs/sudo", '#!/bin/sh\necho "sudo $*" >>"$CALLS"\n[ "$1" = chown ] || exec "$@"\n')
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        self.environment |= {"HOME": str(self.scratch), "XDG_CONFIG_HOME": str(self.scratch), "GIT_CONFIG_NOSYSTEM": "1"}
        self.environment |= {"CALLS": str(self.calls), "USER_ID": "0", "PATH": f"{self.scratch / 'stubs'}:{os.environ['PATH']}"}

    def program(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def git(self, *words):
        done = subprocess.run(["git", *words], cwd=self.root, env=self.environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def commit(self, subject):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", subject)

    def release(self, *words, code=0, **environment):
        """What it says, in both streams. None: any exit code."""
        done = subprocess.run(["tools/release", *words], cwd=self.root, env=self.environment | environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(done.returncode, done.returncode if code is None else code, done.stdout)
        return done.stdout

    def state(self):
        """All but what git ignores."""
        return self.git("status", "--porcelain", "--branch") + self.git("for-each-ref") + self.git("rev-parse", "HEAD")


class OfASmallTree(Tree):
    def setUp(self):
        super().setUp()
        (self.scratch / "ignored").write_text("*.log\n")
        # Nobody's settings but these, the last of which saves time.
        (self.scratch / ".gitconfig").write_text(f"[core]\nexcludesFile = {self.scratch}/ignored\n[merge]\nff = false\n[maintenance]\nauto = false\n")
        release = (ROOT / "tools/release").read_text()
        self.program(self.root / "tools/release", release.replace("EUID", "USER_ID"))
        for name, text in TOOLS.items():
            self.program(self.root / "tools" / name, TOOL + text)
        self.program(self.root / "tests/old_runs/make", TOOL + MAKES_RUNS)
        self.write("CMakeLists.txt", re.sub(r"(?<=\(medley VERSION )[\d.]+", "0.1.0", (ROOT / "CMakeLists.txt").read_text(), count=1))
        self.write("CHANGELOG.md", CHANGELOG)
        self.write(".gitignore", "/build/\n")
        for kind in ("plain", "adapters"):
            self.write(f"tests/old_runs/0.1.0/{kind}/run.json", "{}\n")
        self.git("init", "--quiet", "--initial-branch", "trunk")
        self.git("config", "user.name", "medley")
        self.git("config", "user.email", "medley@localhost")
        self.commit("Start")
        self.git("tag", "v0.1.0")

    def shown(self, revision, name):
        return self.git("show", f"{revision}:{name}")

    def expect_release(self):
        self.assertEqual(self.git("log", "--format=%s").splitlines()[:2], ["Begin 0.3.0", "Release 0.2.0"])
        self.assertEqual(self.git("status", "--porcelain", "--branch"), "## trunk\n")
        self.assertEqual(self.git("rev-parse", "v0.2.0^{commit}"), self.git("rev-parse", "HEAD~1"))
        self.assertEqual(self.git("cat-file", "-t", "v0.2.0"), "tag\n")

    def expect_files(self, files):
        """Each of the release's commit, with its sum."""
        self.assertEqual(sorted(file.name for file in files.iterdir()), FILES)
        for name in FILES[1], FILES[2], FILES[4]:
            self.assertEqual((files / name).read_text(), self.git("rev-parse", "v0.2.0^{commit}"))
        self.assertEqual((files / "notes.md").read_text().rstrip("\n"), SECTION.rstrip("\n"))
        sums = dict(reversed(line.split("  ")) for line in (files / "SHA256SUMS").read_text().splitlines())
        self.assertEqual(sums, {name: hashlib.sha256((files / name).read_bytes()).hexdigest() for name in FILES[1:]})
        with tarfile.open(files / FILES[3]) as archive:
            names = {name.removeprefix("medley-0.2.0/") for name in archive.getnames()}
        self.assertLessEqual({"CMakeLists.txt", "tools/release", "tests/old_runs/0.2.0/adapters/run.log"}, names)

    def test_it_makes_commits_tag_and_files(self):
        said = self.release("0.2.0")
        folder = self.root / "build/release-of-0.2.0"
        self.assertIn(str(folder / "files"), said)
        self.assertTrue(said.endswith("git push origin trunk v0.2.0\n"), said)
        called = self.calls.read_text().replace(f" {folder}/files/{FILES[2]}", "")
        self.assertEqual([line.rstrip() for line in called.splitlines()], CALLS)
        self.expect_release()
        for revision, number in {"v0.2.0": "0.2.0", "HEAD": "0.3.0"}.items():
            self.assertIn(f"\nproject(medley VERSION {number} ", self.shown(revision, "CMakeLists.txt"))
        changelog = self.shown("v0.2.0", "CHANGELOG.md")
        self.assertRegex(changelog, r"\n## 0\.2\.0 \(20\d\d-\d\d-\d\d\)\n")
        self.assertEqual(re.sub(r"(0\.2\.0 \()[\d-]+", r"\1not released yet", changelog), CHANGELOG)
        self.assertEqual(self.shown("HEAD", "CHANGELOG.md"), changelog.replace("## 0.2.0", "## 0.3.0 (not released yet)\n\n## 0.2.0"))
        self.assertEqual(self.git("tag", "--list", "--format=%(contents)", "v0.2.0"), f"medley 0.2.0\n\n{SECTION}\n")
        self.assertEqual(self.shown("v0.2.0", "tests/old_runs/0.2.0/plain/run.log"), "0.2.0\n")
        self.assertEqual(list(folder.iterdir()), [folder / "files"])
        self.expect_files(folder / "files")
        self.assertIn("the tag v0.2.0 exists", self.release("0.2.0", code=2))

    def test_a_step_that_fails_leaves_all_as_it_was_and_another_start_begins_anew(self):
        before = self.state()
        cases = {"failed: tools/test.": {"FAILS": "tools/test"}, "no tests/old_runs/0.2.0;": {"KINDS": ""},
                 "no tests/old_runs/0.2.0/adapters;": {"KINDS": "plain"}, "a step left files; expected none: ?? stray": {"LEAVES": "stray"}}
        for words, environment in cases.items():
            said = self.release("0.2.0", code=3 if "FAILS" in environment else 1, **environment)
            self.assertIn(words, said)
            self.assertIn("again: tools/release 0.2.0", said)
            self.assertEqual(self.state(), before)
        self.release("0.2.0", code=-9, FAILS="killed tools/gpu-check")
        self.assertEqual(self.state(), before)
        self.assertIn("begins anew", self.release("0.2.0"))
        self.expect_release()

    def test_a_branch_that_moved_meanwhile_stays_and_the_words_merge_it(self):
        self.commit("More")
        self.git("switch", "--quiet", "--create", "other")
        for meanwhile, words in {"switch --quiet trunk": "other has moved since", "reset --quiet --hard HEAD~1": "trunk has moved since"}.items():
            self.assertIn(words, self.release("0.2.0", code=1, MEANWHILE=f"git -C '{self.root}' {meanwhile}"))
            self.assertNotIn("Begin 0.3.0", self.git("log", "--all", "--format=%s"))
        said = self.release("0.2.0", code=1, MEANWHILE=f"cd '{self.root}'; echo a >a; git add a; git commit --quiet --message Other")
        self.assertEqual(self.git("log", "--format=%s"), "Other\nStart\n")
        self.assertEqual(self.git("tag"), "v0.1.0\n")
        self.assertIn("trunk has moved since", said)
        merge, _, _ = said.splitlines()[-1].removeprefix("release:").partition(" && git push origin trunk v0.2.0")
        subprocess.run(merge, shell=True, cwd=self.root, env=self.environment, capture_output=True, check=True)
        self.assertLessEqual({"Begin 0.3.0", "Release 0.2.0", "Other"}, set(self.git("log", "--format=%s").splitlines()))
        self.assertEqual(self.git("tag"), "v0.1.0\nv0.2.0\n")

    def test_who_is_not_root_has_the_package_checked_by_sudo_and_gets_it_back(self):
        for environment, code in (({"FAILS": "tools/check-package"}, 3), ({}, 0)):
            self.calls.unlink(missing_ok=True)
            self.release("0.2.0", code=code, USER_ID="1000", **environment)
            self.assertIn("sudo tools/check-package\ntools/check-package \nsudo chown -R 1000 build/package\n", self.calls.read_text())

    def test_all_that_stands_in_the_way_is_told_at_once(self):
        for word in ("0.2", "v0.2.0", "00.2.0", "0.2.0-rc1", "--fast", ""):
            self.assertIn(f"'{word}' is no version; expected three numbers", self.release(word, code=2))
        self.assertIn("'0.3.0' is one word too many", self.release("0.2.0", "0.3.0", code=2))
        self.assertIn("the tag v0.1.0 exists", self.release("0.1.0", code=2))
        self.assertIn("0.0.9 is not greater than the newest tag, v0.1.0", self.release("0.0.9", code=2))
        self.assertIn("at its top; expected '## 0.10.0 (not released yet)'", self.release("0.10.0", code=2))
        self.git("checkout", "--quiet", "--detach")
        self.git("tag", "v0.10.0")
        self.git("config", "user.useConfigOnly", "true")
        self.git("config", "--unset", "user.email")
        self.write("CHANGELOG.md", CHANGELOG.replace("- Runs are faster (#1).", ""))
        self.write("CMakeLists.txt", "project(medley VERSION 0.11.0 LANGUAGES CXX)\n")
        self.program(self.root / "tools/release", (self.root / "tools/release").read_text().replace("sudo", "no-sudo"))
        before = self.state()
        words = ["0.2.0 is not greater than the newest tag, v0.10.0", "0.2.0 is less than the number in CMakeLists.txt, 0.11.0",
                 "CHANGELOG.md says nothing of 0.2.0", "the tree is not clean (3, such as ' M CHANGELOG.md')", "HEAD is on no branch",
                 "git does not know who commits", "tools/check-package needs root"]
        said = self.release("0.2.0", code=2, USER_ID="1000")
        self.assertEqual([line for line in said.splitlines() if "; expected " not in line], [])
        self.assertEqual([word for word in words if word not in said], [])
        self.assertEqual(len(said.splitlines()), len(words))
        (self.root / "CHANGELOG.md").unlink()
        self.assertIn("CHANGELOG.md has 'no section' at its top", self.release("0.2.0", "--dry-run", code=2))
        self.write("CHANGELOG.md", CHANGELOG.replace("- Runs are faster (#1).", ""))
        self.assertEqual(self.state(), before)
        self.assertFalse((self.root / "build").exists())


class OfThisTree(Tree):
    def test_what_would_be_done_is_told_and_nothing_is_changed(self):
        if not (ROOT / ".git").exists():
            self.skipTest("this tree is not git's")
        # Whoever owns it; of its files those of the root and the tools.
        self.environment |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
        subprocess.run(["git", "clone", "--quiet", "--shared", "--no-tags", "--sparse", ROOT, self.root], env=self.environment, check=True)
        self.git("sparse-checkout", "set", "tools")
        self.git("switch", "--quiet", "--force-create", "trunk")
        self.git("config", "user.name", "medley")
        self.git("config", "user.email", "medley@localhost")
        shutil.copy(ROOT / "tools/release", self.root / "tools")
        for name in TOOLS:  # a plan that is carried out after all takes no hour
            self.assertTrue(os.access(self.root / "tools" / name, os.X_OK), name)
            self.program(self.root / "tools" / name, TOOL)
        number = re.search(r"^project\(medley VERSION ([\d.]+)", (self.root / "CMakeLists.txt").read_text(), re.M)[1]
        self.commit("What is not committed yet")
        if (problems := self.release(number, "--dry-run", code=None)).startswith("release: CHANGELOG.md"):  # released, or just begun
            self.assertEqual(len(problems.splitlines()), 1, problems)
            self.write("CHANGELOG.md", f"## {number} (not released yet)\n\n- A line.\n")
            self.commit("Say what has changed")
        before, folders = self.state(), sorted(self.root.iterdir())
        said = self.release(number, "--dry-run")
        at = [said.find(f"  {call}") for call in [word.replace("0.2.0", number) for word in CALLS if "check-package" not in word]]
        self.assertEqual(at, sorted(at), said)
        self.assertGreater(at[0], 0, said)
        self.assertIn("tools/check-package", said)
        self.assertIn("nothing is changed", said)
        self.assertEqual(self.state(), before)
        self.assertEqual(sorted(self.root.iterdir()), folders)
        self.assertFalse(self.calls.exists())


if __name__ == "__main__":
    unittest.main()
