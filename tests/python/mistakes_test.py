"""What goes wrong in a task is told in a sentence, with its place in Python, before step 1 where it can be."""

from harness import Folder, main

RUN = 'return {"error": self.score(context).sum()}'
DRAWN = "drawn = rows.uniform(26).astype(np.float32)"
COLUMNS = 'return {"series": drawn[:, 2:], "targets": drawn[:, :2]}'
CONTRACT = "task 'line' (variant 'default') does not do what its spec says"


class Mistakes(Folder):
    def said(self, *replace, check=1, words=(), **more):
        self.plugin(replace=replace)
        self.config(steps=2, **more)
        return self.medley("train", "run.json", "--out", "run", *words, check=check)

    def assert_said(self, said, *expected, by="plugin 'lines' (task line"):
        self.assertIn(by, said)
        for words in expected:
            self.assertIn(words, said)
        self.assertNotIn("Traceback", said)
        self.assertNotIn("_glue.py", said)
        self.assertFalse((self.path / "run/metrics.jsonl").exists() and (self.path / "run/metrics.jsonl").read_text().count("loss"))

    def test_an_exception_in_sample(self):
        said = self.said((DRAWN, "drawn = self.draw(rows)\n\n    def draw(self, rows):\n        raise ValueError('no such file')"))
        self.assert_said(said, "while sampling", "plugins/lines.py:15: ValueError: no such file", "\n  in draw, plugins/lines.py:15: raise",
                         "\n  in sample, plugins/lines.py:12: drawn = self.draw(rows)")

    def test_an_exception_in_run(self):
        said = self.said((RUN, "return {'error': 1 / 0}"))
        self.assert_said(said, "while running pass look", "plugins/lines.py:16: ZeroDivisionError: division by zero")

    def test_an_exception_in_torch_names_the_authors_line(self):
        said = self.said((RUN, "return {'error': self.score(context) @ context['series']}"), ("context[\"targets\"]", "context['series']"))
        self.assert_said(said, "RuntimeError", "plugins/lines.py:20: RuntimeError: The size of tensor a (2) must match")
        self.assertNotIn("site-packages", said)

    def test_a_wrong_input_of_forward(self):
        said = self.said(('{"series": context["series"]}', '{"serie": context["series"]}'))
        self.assert_said(said, "plugins/lines.py:19: ", "serie")

    def test_a_missing_column(self):
        self.assert_said(self.said(('context["targets"]', 'context["target"]')), "plugins/lines.py:20: ", "target", "series")

    def test_a_mean_for_a_sum(self):
        self.assert_said(self.said((".sum()}", ".mean()}")), "run returns sums, never means", by=CONTRACT)

    def test_a_loss_that_is_detached(self):
        said = self.said((RUN, "return {'error': torch.tensor(self.score(context).detach().numpy().sum())}"))
        self.assert_said(said, "no pass returns the term 'error' with a graph", by=CONTRACT)

    def test_what_is_drawn_elsewhere(self):
        for drawn, what in (
            ("np.random.rand(len(rows), 26).astype(np.float32)", "task 'line': sample gave another row"),
            ("torch.rand(len(rows), 26).numpy()", "while sampling): it drew from libtorch's own generator"),
        ):
            said = self.said((DRAWN, "drawn = " + drawn))
            self.assert_said(said, by=what)
            self.assertIn("rows.uniform", said)  # in Python's words
            self.assertNotIn("rows.Random", said)

    def test_numpys_numbers_are_refused(self):
        said = self.said((".astype(np.float32)", ""))
        self.assert_said(said, "the column 'series' is float64, as numpy makes numbers; make it float32: .astype(numpy.float32)")

    def test_what_is_no_tensor(self):
        self.assert_said(self.said((COLUMNS, "return {'series': drawn[:, 2:].tolist(), 'targets': drawn}")), "the column 'series' is of list")
        self.assert_said(self.said((COLUMNS, "return [drawn]")), "sample returned list; it returns {name: column}")
        self.assert_said(self.said((RUN, "return self.score(context).sum()")), "returned no dict")
        self.assert_said(self.said((RUN, "return {'error': 1.0}")), "the sum of the term 'error' must be a torch.Tensor")

    def test_a_column_with_a_terms_name(self):
        said = self.said((COLUMNS, "return {'error': drawn[:, 2:], 'targets': drawn[:, :2]}"))
        self.assert_said(said, "'error' is a term of the spec, so sample's 'error' is its items, [rows] whole numbers; call the column otherwise")

    def test_a_context_that_is_over(self):
        said = self.said((RUN, "old, self.old = getattr(self, 'old', None), context\n        if old: old['series']\n        " + RUN))
        self.assert_said(said, "the context of a pass that is over", "plugins/lines.py:17: ")

    def test_the_end_of_the_process_is_an_error(self):
        said = self.said((DRAWN, "import sys; sys.exit(3)"))
        self.assert_said(said, "plugins/lines.py:12: SystemExit: 3. A task may not end the process")

    def test_a_fork_that_comes_back_ends(self):
        said = self.said((DRAWN, "import os\n        if os.fork() and not os.wait(): pass\n        " + DRAWN), check=0, words=["data.threads=0"])
        self.assertIn("a task in Python forked, and its child came back into the run; it ends here", said)

    def test_mistakes_at_load(self):
        said = self.said(("def sample", "x = 1 / 0\n\n    def sample"))
        self.assertIn("plugins/lines.py:11: ZeroDivisionError", said)
        said = self.said(("def sample(self, rows):", "def sample(self, rows)"))
        self.assertIn("plugins/lines.py:11: SyntaxError: expected ':'", said)
        said = self.said(("import torch", "import no_such_module"))
        self.assertIn("plugins/lines.py:4: ModuleNotFoundError: No module named 'no_such_module'", said)

    def test_a_spec_that_is_changed_after_it_is_made(self):
        for change in ('Lines.spec["version"] = "2"', 'Lines.spec = {**Lines.spec, "terms": [{"name": "error", "weight": 1}]}'):
            self.plugin()
            file = self.path / "plugins/lines.py"
            file.write_text(file.read_text() + "\n\n" + change + "\n")
            self.config()
            said = self.medley("train", "run.json", "--out", "run", check=1)
            self.assertIn("the spec of 'line' is changed after it is made", said)

    def test_a_class_that_is_no_task(self):
        self.assertIn("no class of it that derives from medley.Task has the spec of 'line'", self.said(("class Lines(medley.Task)", "class Lines")))

    def test_methods_that_are_missing(self):
        self.assert_said(self.said(("def sample(", "def samples(")), "Lines needs sample(self, rows)")
        said = self.said(("def score(", "def scores("), (RUN, "return {'error': self.scores(context).sum()}"), check=None)
        self.assertIn("Lines needs score(self, context), or evaluate", said)

    def test_an_error_in_a_backward_has_its_place(self):
        boom = """
    class Boom(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            raise ValueError("boom in backward")
"""
        said = self.said(("class Lines", boom.replace("\n    ", "\n").lstrip() + "\n\nclass Lines"), (RUN, 'return {"error": Boom.apply(self.score(context).sum())}'))
        self.assertIn("boom in backward", said)
        self.assertIn("plugins/lines.py:14: ValueError", said)

    def test_out_of_memory_in_a_pass_is_tried_again_with_fewer_rows(self):
        hungry = "waste = torch.zeros(len(context.rows) * 1_000_000 if self.grown else 1)\n        self.grown = self.grown or context.rows.begin >= 64\n        "
        self.plugin(replace=[(RUN, hungry + RUN), ("def sample", "grown = False\n\n    def sample")])
        self.config(steps=20, eval={"every": 0}, budget="160MiB", tasks={"line": {"rows": 64}})
        said = self.medley("train", "run.json", "--out", "run", check=None)
        self.assertRegex(said, r"ran out of memory with 64.*\n?.*; the same rows run again \d+ at a time")
        self.assertNotIn("behind when it ran out of memory", said)  # to the bytes before it

    def test_an_oom_that_torch_raises(self):
        raises = "if len(context.rows) > 8 and context.rows.begin >= 64:\n            raise torch.OutOfMemoryError('no more')\n        "
        self.plugin(replace=[(RUN, raises + RUN)])
        self.config(steps=10, tasks={"line": {"rows": 32}})
        said = self.medley("train", "run.json", "--out", "run")
        self.assertIn("the same rows run again 16 at a time", said)
        self.assertIn("the same rows run again 8 at a time", said)


if __name__ == "__main__":
    main(3)
