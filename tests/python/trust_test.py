"""Nothing runs that medley was not told of: not at a listing, not of the working directory, not of strangers."""
import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys

from harness import BUILD, LINE, MEDLEY, NETS, Folder, main


class Trust(Folder):
    def test_a_listing_starts_no_python_and_opens_no_libtorch(self):
        self.plugin(replace=[("import torch", "import torch\nopen('ran', 'w')")])
        if shutil.which("strace"):
            trace = self.path / "trace"
            subprocess.run(["strace", "-f", "-e", "trace=execve,openat,open", "-o", trace, MEDLEY, "tasks", "--plugin-path", self.path / "plugins"],
                           check=True, stdout=subprocess.DEVNULL, env=self.environment)
            lines = trace.read_text()
            self.assertIn("lines.py", lines)
            self.assertEqual(lines.count("execve("), 1, lines)
            for library in ("libtorch", "libpython", "libmedley.so", "libc10"):
                self.assertNotIn(library, lines)
        for words in (["tasks"], ["tasks", "line"], ["plugins", "list"], ["plugins", "show", str(self.path / "plugins/lines.py")]):
            said = self.medley(*words) if words[:2] != ["plugins", "show"] else self.medley(*words, plugins=[])
            self.assertIn("line", said)
        self.assertFalse((self.path / "ran").exists())

    def test_validating_and_planning_of_tasks_in_cpp_starts_none(self):
        self.plugin()
        self.config()
        self.medley("validate", "run.json", env={"MEDLEY_PYTHON": "/nonexistent/python"})
        self.medley("train", "run.json", "--out", "no", check=2, env={"MEDLEY_PYTHON": "/nonexistent/python"})

    def test_a_spec_that_is_no_literal(self):
        self.plugin(replace=[('"name": "line"', '"name": NAME')])
        self.config()
        said = self.medley("train", "run.json", "--out", "no", check=2)
        self.assertRegex(said, r"lines.py:8: 'NAME' is a name; a spec is read without running the file, so it is a literal: texts, numbers")

    def test_a_torch_of_the_working_directory_is_not_taken(self):
        self.plugin()
        self.config(steps=1)
        for name in ("torch", "numpy", "medley", "json"):
            self.write(name + ".py", f"open('{name} ran', 'w')\nraise SystemExit(7)\n")
        self.medley("train", "run.json", "--out", "run")
        package = BUILD / "lib/medley/python"
        done = subprocess.run([sys.executable, "-m", "medley", "train", "run.json", "--out", "run2", "--plugin-path", "plugins", "--plugin-path", NETS],
                              cwd=self.path, env={**self.environment, "PYTHONPATH": str(package)}, capture_output=True, text=True)
        ran = [name for name in os.listdir(self.path) if name.endswith("ran")]
        # `python -m` imports the package medley itself from the working directory, and only that.
        self.assertEqual(ran, ["medley ran"], done.stderr)

    def test_python_m_with_a_safe_path_is_the_command(self):
        self.plugin()
        self.config(steps=1)
        self.write("torch.py", "open('torch ran', 'w')\n")
        package = str(BUILD / "lib/medley/python")
        safe = ["-P"] if sys.version_info >= (3, 11) else []
        environment = {**self.environment, "PYTHONPATH": package}
        environment.pop("MEDLEY_PYTHON", None)
        done = subprocess.run([sys.executable, *safe, "-m", "medley", "train", "run.json", "--out", "run", "--plugin-path", "plugins", "--plugin-path", NETS],
                              cwd=self.path, env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertFalse((self.path / "torch ran").exists())
        listed = subprocess.run([sys.executable, *safe, "-m", "medley", "version"], cwd=self.path, env=environment, capture_output=True, text=True)
        self.assertIn("medley", listed.stdout)

    def test_what_others_may_write_is_refused(self):
        file = self.plugin()
        self.config()
        os.chmod(file, 0o666)
        said = self.medley("train", "run.json", "--out", "no", check=2)
        self.assertIn("lines.py may be written by everybody", said)
        os.chmod(file, 0o644)
        os.chmod(self.path / "plugins", 0o777)
        self.assertIn("may be written by everybody", self.medley("train", "run.json", "--out", "no", check=2))
        os.chmod(self.path / "plugins", 0o755)

    def test_an_interpreter_that_others_may_write_is_refused(self):
        self.plugin()
        self.config()
        fake = self.write("python", "#!/bin/sh\n")
        os.chmod(fake, 0o777)
        said = self.medley("train", "run.json", "--out", "no", check=1, env={"MEDLEY_PYTHON": str(fake)})
        self.assertIn("python may be written by everybody", said)
        said = self.medley("train", "run.json", "--out", "no", check=2, env={"MEDLEY_PYTHON": "python3"})
        self.assertIn("MEDLEY_PYTHON is 'python3', and should be the absolute path of an interpreter", said)

    def python_with(self, version=None, numpy=True):
        """An interpreter that finds a torch of another version, or no numpy: a script around this one."""
        packages = self.path / "packages"
        if version:
            (packages / "torch").mkdir(parents=True, exist_ok=True)
            (packages / "torch/__init__.py").write_text("open('torch ran', 'w')\n")
            (packages / "torch/version.py").write_text(f"__version__ = '{version}+cpu'\n")
        # -S and -I: nothing of site-packages.
        fake = self.write("fake/python", f'#!/bin/sh\nexport PYTHONPATH="{packages}"\nexec {sys.executable} -S "$@"\n')
        os.chmod(fake, 0o755)
        if numpy:
            (packages / "numpy").mkdir(parents=True, exist_ok=True)
            (packages / "numpy/__init__.py").write_text("")
        return {"MEDLEY_PYTHON": str(fake)}

    def test_another_torch_is_told_before_it_is_loaded(self):
        self.plugin()
        self.config()
        said = self.medley("train", "run.json", "--out", "no", check=1, env=self.python_with("2.15.0"))
        self.assertRegex(said, r"this medley was built for torch 2\.11\.0, and .*/packages/torch is 2\.15\.0\. Install that one in a virtual environment")
        self.assertFalse((self.path / "torch ran").exists())

    def test_a_python_without_numpy_or_torch_is_told(self):
        self.plugin()
        self.config()
        said = self.medley("train", "run.json", "--out", "no", check=1, env=self.python_with(numpy=False))
        self.assertIn("has no numpy, in which rows are made: ", said)
        said = self.medley("train", "run.json", "--out", "no", check=1, env=self.python_with())
        self.assertIn("has no torch; it needs torch 2.11.0", said)

    def lock(self, *words, check=0):
        return self.medley("plugins", "lock", "--config", "run.json", "--out", "lock.json", *words, check=check)

    def test_a_changed_file_or_neighbour_is_refused_by_the_lock(self):
        self.plugin(replace=[("import torch", "import torch\nimport helper")])
        helper = self.write("plugins/helper.py", "x = 1\n")
        self.config(steps=1)
        self.lock()
        locked = json.loads((self.path / "lock.json").read_text())["plugins"]
        mine = next(plugin for plugin in locked if plugin["name"] == "lines")
        self.assertEqual(mine["sha256"], hashlib.sha256((self.path / "plugins/lines.py").read_bytes()).hexdigest())
        self.assertEqual(mine["libraries"], {"helper.py": hashlib.sha256(b"x = 1\n").hexdigest()})
        self.config(steps=1, plugin_lock="lock.json")
        self.medley("train", "run.json", "--out", "run")
        helper.write_text("x = 2\n")
        self.assertIn("helper.py, which lines.py loads", self.medley("train", "run.json", "--out", "no", check=2))
        helper.write_text("x = 1\n")
        self.plugin(replace=[("import torch", "import torch\nimport helper  # more")])
        self.assertIn("lines.py: expected SHA-256", self.medley("train", "run.json", "--out", "no", check=2))

    def test_a_changed_file_is_told_at_a_resume(self):
        self.plugin()
        self.config(steps=4)
        self.medley("train", "run.json", "--out", "run")
        self.plugin(replace=[("- context", "- 2 * context")])
        said = self.medley("resume", "run", "--steps", "6", check=None)
        self.assertRegex(said, r"lines\.py|line")
        self.assertRegex(said, "changed|differs|other")

    def test_the_record_has_the_files_sum(self):
        file = self.plugin()
        self.config(steps=1)
        self.medley("train", "run.json", "--out", "run")
        plugins = json.loads((self.path / "run/run.json").read_text())["plugins"]
        mine = next(plugin for plugin in plugins if plugin["path"] == str(file))
        self.assertEqual(mine["build_id"], hashlib.sha256(file.read_bytes()).hexdigest())

    def test_a_config_path_is_confirmed_first(self):
        self.plugin()
        self.config(steps=1, plugin_path=[str(self.path / "plugins"), NETS])
        said = self.medley("train", "run.json", "--out", "no", plugins=[], check=2)
        self.assertIn(str(self.path / "plugins"), said)
        self.assertIn("--allow-config-plugins", said)

    def test_a_module_that_medley_has_not_read_is_not_found(self):
        self.plugin(replace=[("import torch", "import torch\nhelper = __import__('hel' + 'per')")])
        self.write("plugins/helper.py", "x = 1\n")
        self.config(steps=1)
        said = self.medley("train", "run.json", "--out", "no", check=1)
        self.assertIn("No module named 'helper': medley reads in the file what it imports; write `import helper` there", said)

    def test_a_neighbour_that_another_module_hides(self):
        self.write("plugins/calendar.py", "day = 3")
        self.plugin(replace=[("import medley", "import calendar\n\nimport medley")])
        self.config()
        said = self.medley("train", "run.json", "--out", "run", check=1)
        self.assertIn("plugins/calendar.py is hidden by the module 'calendar' of ", said)

    def test_two_plugins_with_a_module_of_one_name(self):
        self.plugin(replace=[("import torch", "import torch\nimport helper")])
        self.write("plugins/helper.py", "x = 1\n")
        self.plugin(name="others/others.py", replace=[("import torch", "import torch\nimport helper"), ('"name": "line"', '"name": "other"')])
        self.write("others/helper.py", "x = 2\n")
        self.config(["line", "other"], steps=1)
        said = self.medley("train", "run.json", "--out", "no", check=1, plugins=[self.path / "plugins", self.path / "others", NETS])
        self.assertIn("are both called 'helper' in this process; rename one of them", said)


if __name__ == "__main__":
    main(2)
