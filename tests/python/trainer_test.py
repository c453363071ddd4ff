"""docs/your-trainer.md's trainer: a plain loop, a resume, and FSDP2 over two gloo processes."""
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

import torch

SOURCE = pathlib.Path(os.environ["MEDLEY_SOURCE"])
PAGE = pathlib.Path(os.environ["MEDLEY_BUILD"]) / "tests/docs/guide/trainer"
CONFIGS = SOURCE / "configs"
TASKS = ("position_qa", "zoom_gold", "arrow_to_gold")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Trainer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.scratch = pathlib.Path(cls.folder.name)
        for name in ("trainer.py", "run.json", "weights.json"):
            shutil.copy(PAGE / name, cls.scratch)
        for file, name in (("models/agent-tiny.json", "agent.json"), ("tokenizers/small.model", "small.model"), ("texts/control.txt", "control.txt")):
            shutil.copy(CONFIGS / file, cls.scratch / name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_in(self, world, state, *more):
        port, started = free_port(), []
        for rank in range(world):
            place = {"RANK": str(rank), "WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)} if world > 1 else {}
            started.append(
                subprocess.Popen(
                    [sys.executable, "trainer.py", "run.json", "--state", state, *more],
                    cwd=self.scratch,
                    env={**os.environ, **place},
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
        said = [process.communicate(timeout=240) for process in started]
        self.assertEqual([process.returncode for process in started], [0] * world, "\n".join(out + told for out, told in said))
        return torch.load(self.scratch / state), said[0][0].splitlines()

    def distance(self, one, other):
        """Of the parameters, as a part of their norm; of the largest."""
        parts = [(one["model"][name] - value).norm() / value.norm() for name, value in other["model"].items()]
        return float(max(parts))

    def test_two_fsdp_processes_train_what_one_does(self):
        for dtype, most in (("float32", 5e-6), ("float64", 1e-12)):
            one, said = self.run_in(1, f"one-{dtype}.pt", "--dtype", dtype)
            two, also = self.run_in(2, f"two-{dtype}.pt", "--dtype", dtype)
            self.assertEqual([sum(line.startswith(task + " ") for line in said) for task in TASKS], [4, 4, 4], said)
            self.assertEqual(two["rows"], one["rows"])
            self.assertLess(self.distance(two, one), most, dtype)
            self.assertGreater(self.distance(one, {"model": {name: torch.ones_like(value) for name, value in one["model"].items()}}), 0.1)
            self.assertEqual([line.split(":")[0] for line in also], [line.split(":")[0] for line in said])

    def test_it_goes_on_from_its_state(self):
        whole, said = self.run_in(1, "whole.pt", "--steps", "8")
        first, before = self.run_in(1, "parts.pt", "--steps", "3")
        parts, after = self.run_in(1, "parts.pt", "--steps", "5")
        self.assertEqual([line.split(":")[0] for line in before + after], [line.split(":")[0] for line in said])
        self.assertEqual(parts["rows"], whole["rows"])
        self.assertNotEqual(first["rows"], whole["rows"])


if __name__ == "__main__":
    unittest.main()
