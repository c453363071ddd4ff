"""medley's rows for another trainer: their order, their state, their parts, and the sums of its model."""
import ctypes
import json
import os
import pathlib
import subprocess
import tempfile
import traceback
import unittest
import warnings

import torch
from torch.utils import checkpoint

import harness
import medley
from medley import _medley

SOURCE = pathlib.Path(os.environ["MEDLEY_SOURCE"])
COMMAND = pathlib.Path(os.environ["MEDLEY_BUILD"]) / "bin/medley"
CONFIG = SOURCE / "configs/runs/quickstart.json"
ROWS = {"control": 3, "arrow_to_gold": 3, "position_qa": 5, "zoom_agent": 3, "zoom_gold": 4, "zoom_halfway": 3}
SMALL = dict(plan=False, threads=1, hours=0, seed=5, steps=24, tensorboard=False, eval__every=0, checkpoint__every=0,
             tasks={task: {"rows": rows} for task, rows in ROWS.items()})  # fmt: skip
READS = {"position_qa": 1}  # the one that asks for no picture


def opened(**more):
    return medley.Mixture(CONFIG, **{**SMALL, **more})


def words(draw):
    return {"task": draw.task, "begin": draw.begin, "rows": draw.rows}


class Reader(torch.nn.Module):
    def __init__(self, vocabulary, width=16):
        super().__init__()
        self.words = torch.nn.Embedding(vocabulary, width)
        self.look = torch.nn.Linear(3, width)
        self.say = torch.nn.Linear(width, vocabulary)
        self.calls = 0

    def forward(self, inputs, wanted):
        self.calls += 1
        self.wanted = wanted
        hidden = self.words(inputs["tokens"])
        for picture in inputs["images"]:
            hidden = hidden + self.look(picture.to(hidden.dtype).mean((2, 3)))[:, None]
        return {"logits": self.say(hidden.flatten(0, 1)[inputs["supervised"] - 1])}


class MixtureTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        _medley.watch_gil(ctypes.cast(ctypes.pythonapi.PyGILState_Check, ctypes.c_void_p).value)

    def test_its_draws_are_those_of_medley_train(self):
        with tempfile.TemporaryDirectory() as folder:
            given = ["plan=false", "threads=1", "hours=0", "seed=5", "steps=24", "tensorboard=false", "eval.every=0", "checkpoint.every=0"]
            given += [f"tasks.{task}.rows={rows}" for task, rows in ROWS.items()]
            subprocess.run([COMMAND, "train", CONFIG, "--out", folder + "/run", *given], check=True, stdout=subprocess.DEVNULL)
            with open(folder + "/run/metrics.jsonl", encoding="utf-8") as lines:
                trained = [json.loads(line)["draws"] for line in lines]
        rows = opened()
        self.assertEqual([[words(next(rows))] for _ in trained], trained)
        self.assertEqual(len(trained), 24)

    def test_it_goes_on_from_the_state_of_every_step(self):
        straight, other = opened(), opened()
        for _ in range(20):
            state = json.loads(json.dumps(straight.state_dict()))
            self.assertLess(len(json.dumps(state)), 4000)
            other.load_state_dict(state)
            self.assertEqual(other.state_dict(), state)
            own, again = next(straight), next(other)
            self.assertEqual(words(again), words(own))
            for name, column in own.columns.items():
                if isinstance(column, torch.Tensor):
                    self.assertTrue(torch.equal(again.columns[name], column))
            for _ in range(3):
                next(other)

    def test_a_state_of_other_rows_is_refused(self):
        state = opened().state_dict()
        with self.assertRaisesRegex(medley.Error, "the state is of other rows: seed: 5 -> 6"):
            opened(seed=6).load_state_dict(state)
        for wrong in ({}, [], "?", {**state, "mixer": {}}, {**state, "version": 9}):
            with self.assertRaises(medley.Error):
                opened().load_state_dict(wrong)
        larger = {task: {"rows": rows + (task == "control")} for task, rows in ROWS.items()}
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            opened(tasks=larger).load_state_dict(state)
        self.assertEqual([str(each.message) for each in told], ["medley: tasks.control.rows: 3 -> 4"])

    def test_parts_of_all_processes_make_the_whole(self):
        for world in (1, 2, 3):
            whole, parts = opened(), [opened(rank=rank, world=world) for rank in range(world)]
            for _ in range(8):
                all_rows, own = next(whole), [next(part) for part in parts]
                self.assertTrue(all(words(draw) == words(all_rows) for draw in own))
                for name, column in all_rows.columns.items():
                    if isinstance(column, torch.Tensor):
                        self.assertTrue(torch.equal(torch.cat([draw.columns[name] for draw in own]), column))
                for term, items in all_rows.items.items():
                    self.assertTrue(torch.equal(torch.cat([draw.items[term] for draw in own]), items))
            self.assertEqual(parts[-1].state_dict(), whole.state_dict())
        with self.assertRaisesRegex(medley.Error, "tasks.control.rows is 3.*for 4 processes"):
            opened(world=4)

    def test_weights_change_from_the_next_draw_on(self):
        rows = opened()
        for _ in range(5):
            next(rows)
        before = rows.state_dict()
        with self.assertRaisesRegex(medley.Error, "did you mean 'zoom_gold'"):
            rows.set_weights({"zoom_glod": 1})
        self.assertEqual(rows.state_dict(), before)
        rows.set_weights({"zoom_gold": 1, "control": 3})
        drawn = [next(rows).task for _ in range(16)]
        self.assertEqual(set(drawn), {"zoom_gold", "control"})
        self.assertAlmostEqual(drawn.count("control"), 12, delta=1)
        self.assertEqual(rows.shares()["control"]["asked"], 0.75)

    def test_sums_are_those_of_the_formula(self):
        rows = opened()
        rows.set_weights(READS)
        model = Reader(rows.vocabulary)
        seen = set()
        for _ in range(6):
            draw = next(rows)
            seen.add(draw.task)
            before = model.calls
            sums = draw.sums(model)
            self.assertEqual(model.calls - before, len(draw.passes))
            self.assertEqual(model.wanted, ["logits", "targets"] if "targets" in model.wanted else ["logits"])
            self.assertEqual({term: count for term, (_, count) in sums.items()}, {term: int(items.sum()) for term, items in draw.items.items()})
            whole = sum(total for total, _ in sums.values())
            found = torch.autograd.grad(whole, list(model.parameters()))
            by_hand = torch.zeros(())
            for one in draw.passes:
                inputs, wanted = draw.inputs(one)
                targets = inputs["tokens"].flatten()[inputs["supervised"]]
                by_hand = by_hand + torch.nn.functional.cross_entropy(model(inputs, wanted)["logits"], targets, reduction="sum")
            expected = torch.autograd.grad(by_hand, list(model.parameters()))
            torch.testing.assert_close(whole, by_hand)
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
            self.assertTrue(float(draw.loss(model)) > 0)
        self.assertEqual(seen, set(READS))

    def test_what_the_model_raises_is_its_own(self):
        rows = opened()
        rows.set_weights(READS)

        class Mistake(Exception):
            pass

        def model(inputs, wanted):
            raise Mistake("in my model")

        try:
            next(rows).sums(model)
            self.fail()
        except Mistake as mistake:
            self.assertEqual(traceback.extract_tb(mistake.__traceback__)[-1].name, "model")
        draw = next(rows)
        with self.assertRaisesRegex(medley.Error, f"task '{draw.task}'.*got no 'logits' from the model"):
            draw.sums(lambda inputs, wanted: {})
        with self.assertRaisesRegex(medley.Error, "the model must return a dict of tensors by name"):
            draw.sums(lambda inputs, wanted: None)
        with self.assertRaisesRegex(medley.Error, "the model's output 'logits' must be a torch.Tensor"):
            draw.sums(lambda inputs, wanted: {"logits": 3})
        with self.assertRaisesRegex(medley.Error, "got a wrong 'logits' from the model: expected"):
            draw.sums(lambda inputs, wanted: {"logits": torch.zeros(2, 3, 4)})

    def test_torch_is_as_it_was(self):
        torch.manual_seed(3)
        expected = torch.rand(4)
        torch.manual_seed(3)
        threads = torch.get_num_threads()
        torch.set_num_threads(3)
        torch.set_default_dtype(torch.float64)
        try:
            rows = opened()
            types = {name: column.dtype for name, column in next(rows).columns.items() if isinstance(column, torch.Tensor)}
            self.assertNotIn(torch.float64, types.values())
            self.assertEqual(torch.get_num_threads(), 3)
        finally:
            torch.set_default_dtype(torch.float32)
            torch.set_num_threads(threads)
        self.assertTrue(torch.equal(torch.rand(4), expected))

    def test_checkpointing_of_torch_works_beside_it(self):
        rows = opened()
        rows.set_weights(READS)
        model = Reader(rows.vocabulary)
        calls = []

        def forward(hidden):
            calls.append(1)
            return model.say(hidden)

        hidden = torch.rand(4, 16, requires_grad=True)
        checkpoint.checkpoint(forward, hidden, use_reentrant=False).sum().backward()
        self.assertEqual(len(calls), 2, "its function runs again in the backward")

    def test_draws_outlive_their_mixture(self):
        rows = opened()
        rows.set_weights(READS)
        model = Reader(rows.vocabulary)
        draw = next(rows)
        expected = draw.sums(model)
        del rows
        moved = draw.to("cpu")
        for term, (total, count) in moved.sums(model).items():
            self.assertEqual((total.item(), count), (expected[term][0].item(), expected[term][1]))

    def test_zz_no_call_held_the_gil(self):
        self.assertLessEqual({"open_mixture", "next", "set_weights", "load"}, set(_medley.gil_watched()))


class OfPython(harness.Folder):
    """A task in Python with three passes: one of other weights, one that hands on, and ragged columns."""

    def opened(self, **more):
        options = {"rows": 6, "options": {"noise": 0}}
        config = self.config("chain", tasks={"chain": options})
        return medley.Mixture(config, plugins=[harness.TASKS, harness.NETS], **more)

    def test_sums_with_references_are_those_of_the_formula(self):
        torch.manual_seed(1)
        model, frozen = torch.nn.Linear(24, 2).double(), torch.nn.Linear(24, 2).double()

        def ask(layer):
            return lambda inputs, wanted: {"values": layer(inputs["series"].double())}

        draw = next(self.opened())
        with self.assertRaisesRegex(medley.Error, "the pass 'before' of 'chain' asks for the reference 'start'"):
            draw.sums(ask(model))
        sums = draw.sums(ask(model), references={"start": ask(frozen)})
        columns = draw.columns
        series, targets, more = columns["series"].double(), columns["targets"].double(), columns["more"]
        said = model(series)
        table = (torch.arange(96) / 96).reshape(4, 24).double()[columns["index"]]
        values = model(series + table + said.sum(1, keepdim=True) * 0.125)
        wanted = targets + said.detach().sign() * 0.25 + frozen(series).detach() * 0.5
        weights = torch.stack([part.sum() for part in more.values.split(more.counts)]).double()
        expected = {"error": (said - targets).square().mean(1).sum(), "again": ((values - wanted).square().mean(1) * weights).sum()}
        parameters = list(model.parameters())
        for term, (total, items) in sums.items():
            torch.testing.assert_close(total.double(), expected[term], rtol=1e-5, atol=1e-6)
            found = torch.autograd.grad(total, parameters, retain_graph=True)
            by_hand = torch.autograd.grad(expected[term], parameters, retain_graph=True)
            torch.testing.assert_close(found, by_hand, rtol=1e-4, atol=1e-5)
            self.assertEqual(items, sum(more.counts) if term == "again" else 6)

    def test_ragged_columns_are_as_tasks_return_them(self):
        whole, parts = next(self.opened()), [next(self.opened(rank=rank, world=2)) for rank in range(2)]
        more = whole.columns["more"]
        self.assertIsInstance(more, medley.Ragged)
        self.assertEqual(more.counts, [1, 2, 3, 1, 2, 3])
        self.assertEqual(more.values.tolist(), [1, 1, 2, 1, 2, 3, 1, 1, 2, 1, 2, 3])
        self.assertEqual(sum((part.columns["more"].counts for part in parts), []), more.counts)
        self.assertTrue(torch.equal(torch.cat([part.columns["more"].values for part in parts]), more.values))


if __name__ == "__main__":
    unittest.main()
