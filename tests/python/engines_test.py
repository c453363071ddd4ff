"""One autograd engine for medley and torch, whichever of them came first: what medley plans and takes is what the command plans and takes, to
the byte, and torch's own hooks of saved tensors go on working in the same process."""
import ctypes
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import unittest

SOURCE, BUILD = (pathlib.Path(os.environ[name]) for name in ("MEDLEY_SOURCE", "MEDLEY_BUILD"))
STEPS = 3
OVERRIDES = f"threads=1 steps={STEPS} budget=1GiB eval.every=0 tensorboard=false checkpoint.every={STEPS}"


class Engines:
    """tests/python/engines.cc, opened where it is made."""

    def __init__(self):
        self.library = ctypes.CDLL(os.environ["MEDLEY_ENGINES"])
        self.library.end_counting.restype = ctypes.c_int64
        for name in ("begin_session", "train_until", "go_backward"):
            getattr(self.library, name).restype = ctypes.c_char_p

    def _call(self, name, *arguments):
        thrown = getattr(self.library, name)(*arguments)
        if thrown is not None:
            raise RuntimeError(thrown.decode())

    def begin(self, folder, run):
        self._call("begin_session", f"{folder}/run.json".encode(), OVERRIDES.encode(), f"{folder}/{run}".encode())

    def train(self, until=STEPS):
        self._call("train_until", ctypes.c_int64(until))

    def end(self):
        self.library.end_session()

    def run(self, folder, run):
        self.begin(folder, run)
        self.train()
        self.end()

    def backward(self, loss):
        self._call("go_backward", ctypes.c_void_p(id(loss)))


def checkpointed():
    """How often a checkpointed function runs for one backward, and what saved_tensors_hooks pack of it: 2, and 2 without checkpointing."""
    import torch
    from torch.utils.checkpoint import checkpoint

    runs = []

    def function(x):
        runs.append(1)
        return (x @ x).tanh().sum()

    x = torch.ones(4, 4, requires_grad=True)
    checkpoint(function, x, use_reentrant=False).backward()
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: packed.append(1) or tensor, lambda tensor: tensor):
        x.tanh().exp().sum().backward()
    return [len(runs), len(packed)]


# Each in a process of its own, as who comes first is settled once. What it returns is held against `expected`.
def torch_after(folder):
    engines = Engines()
    engines.run(folder, "before")
    import torch  # noqa: F401

    seen = [checkpointed()]
    engines.run(folder, "after")
    return {"checkpointed": [*seen, checkpointed()], "runs": ["before", "after"]}


def torch_before(folder):
    import torch  # noqa: F401

    engines = Engines()
    seen = [checkpointed()]
    engines.run(folder, "torch-before")
    return {"checkpointed": [*seen, checkpointed()], "runs": ["torch-before"]}


def torch_between(folder):
    engines = Engines()
    engines.begin(folder, "torch-between")
    engines.train(1)
    import torch  # noqa: F401

    seen = [checkpointed()]
    engines.train(2)
    seen.append(checkpointed())
    engines.train()
    engines.end()
    return {"checkpointed": seen, "runs": ["torch-between"]}


def counted(folder):
    """The innermost decides: a pass of a Python task may checkpoint a part of its own."""
    import torch

    engines = Engines()
    x = torch.ones(8, 8, requires_grad=True)
    engines.library.begin_counting()
    loss = x.tanh().sum()  # saves its output, 256 bytes
    seen = checkpointed()
    counted = engines.library.end_counting()
    engines.backward(loss)
    return {"checkpointed": [seen], "counted": counted, "gradient": bool(torch.allclose(x.grad, 1 - x.detach().tanh() ** 2)), "runs": []}


def thrown(folder):
    """What a backward of Python's throws where medley is imported: in one that C++ asked for, and in one that Python did."""
    import traceback

    import torch

    import medley  # noqa: F401

    class Boom(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            return x.clone()

        @staticmethod
        def backward(context, gradient):
            raise ValueError("boom in backward")

    engines = Engines()
    words = []
    for _ in range(2):
        try:
            engines.backward(Boom.apply(torch.ones(2, requires_grad=True)).sum())
        except RuntimeError as error:
            words.append(str(error))
    raised = []
    for ask in (torch.Tensor.backward, lambda loss: torch.autograd.grad(loss, [x])):
        x = torch.ones(2, requires_grad=True)
        try:
            ask(Boom.apply(x).sum())
        except Exception as error:
            raised.append([type(error).__name__, str(error), traceback.extract_tb(error.__traceback__)[-1].line])
    return {"words": words, "raised": raised, "checkpointed": [checkpointed()], "runs": []}


def sharded(folder):
    """One of two processes of FSDP2 with a checkpointed layer; the sums of its weights after three steps."""
    import torch
    import torch.distributed
    from torch.distributed.fsdp import fully_shard
    from torch.utils.checkpoint import checkpoint

    if os.environ["WITH_MEDLEY"] == "1":
        engines = Engines()  # with its slot in place, as behind a run's first step
        engines.library.begin_counting()
        engines.library.end_counting()
    torch.manual_seed(1)
    torch.distributed.init_process_group("gloo")
    mesh = torch.distributed.init_device_mesh("cpu", (2,))
    runs = []

    class Checkpointed(torch.nn.Module):
        def __init__(self, layer):
            super().__init__()
            self.layer = layer

        def forward(self, x):
            return checkpoint(self.run, x, use_reentrant=False)

        def run(self, x):
            runs.append(1)
            return self.layer(x).tanh()

    model = torch.nn.Sequential(torch.nn.Linear(8, 8), Checkpointed(torch.nn.Linear(8, 8)), torch.nn.Linear(8, 8))
    for layer in model:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    rank = torch.distributed.get_rank()
    for step in range(3):
        x = torch.linspace(-1, 1, 32).view(4, 8) + step + rank
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    sums = [parameter.full_tensor().double().sum().item() for parameter in model.parameters()]
    torch.distributed.destroy_process_group()
    return {"sums": sums, "recomputed": len(runs)}


def without_times(value):
    """Of a plan: what steps and planning took is measured anew."""
    if isinstance(value, dict):
        return {key: without_times(inner) for key, inner in value.items() if key not in ("ms_per_step", "seconds")}
    return [without_times(inner) for inner in value] if isinstance(value, list) else value


def bytes_of(run):
    """What must not depend on who came first: losses, and bytes planned, measured and taken."""
    timing = [json.loads(line) for line in (run / "timing.jsonl").read_text().splitlines()]
    return {
        "metrics": (run / "metrics.jsonl").read_text(),
        "plan": without_times(json.loads((run / "plan.json").read_text())),
        "peaks": [{key: value for key, value in line.items() if "bytes" in key or "peak" in key or "floor" in key} for line in timing],
    }


class Cases(unittest.TestCase):
    maxDiff = 4000

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="medley-engines-")
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        config = json.loads((SOURCE / "configs/runs/quickstart.json").read_text())
        for name in ("model", "tokenizer", "control_text"):
            config[name] = str((SOURCE / "configs/runs" / config[name]).resolve())
        del config["$schema"]
        config["tasks"] = {"control": {"rows": 8, "recompute_every": 1}}
        config["weights"] = "weights.json"
        (cls.folder / "run.json").write_text(json.dumps(config))
        (cls.folder / "weights.json").write_text('{"weights": {"control": 1}}')

    def case(self, name, **environment):
        return subprocess.Popen([sys.executable, __file__, name, str(self.folder)], env={**os.environ, **environment}, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def result(self, process):
        out, err = process.communicate(timeout=500)
        self.assertEqual(process.returncode, 0, out + err)
        return json.loads(out.splitlines()[-1])

    def expected(self):
        """Of the command's run, which is made once."""
        run = self.folder / "command"
        if not run.exists():
            command = [BUILD / "bin/medley", "train", self.folder / "run.json", *OVERRIDES.split(), "--out", run]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.assertEqual(done.returncode, 0, done.stdout)
        expected = bytes_of(run)
        self.assertEqual(len(expected["peaks"]), STEPS)
        self.assertTrue(all(expected["peaks"]), "timing.jsonl has no bytes")
        return expected

    def expect_twins(self, result):
        for run in result["runs"]:
            self.assertEqual(bytes_of(self.folder / run), self.expected(), run)

    def expect_checkpoints(self, result):
        for seen in result["checkpointed"]:
            self.assertEqual(seen, [2, 2])


class OneEngine(Cases):
    def test_torch_imported_before(self):
        result = self.result(self.case("torch_before"))
        self.expect_checkpoints(result)
        self.expect_twins(result)

    def test_torch_imported_between_two_steps(self):
        result = self.result(self.case("torch_between"))
        self.expect_checkpoints(result)
        self.expect_twins(result)

    def test_the_innermost_hooks_decide(self):
        result = self.result(self.case("counted"))
        self.expect_checkpoints(result)
        self.assertEqual(result["counted"], 256 + 64)  # of the tanh, and what a checkpoint keeps: its input
        self.assertTrue(result["gradient"])

    def test_an_error_of_a_backward_in_python_has_its_place(self):
        result = self.result(self.case("thrown"))
        self.assertEqual(len(result["words"]), 2)
        for words in result["words"]:
            self.assertRegex(words, r"engines_test.py:\d+: ValueError: boom in backward")
        # Whoever asks in Python gets what was raised, with the place that raised it.
        self.assertEqual(result["raised"], [["ValueError", "boom in backward", 'raise ValueError("boom in backward")']] * 2)
        self.expect_checkpoints(result)


class AfterARun(Cases):
    def test_torch_imported_after(self):
        result = self.result(self.case("torch_after"))
        self.expect_checkpoints(result)
        self.expect_twins(result)


class UnderFsdp2(Cases):
    def test_two_processes_are_the_same_with_medley_open(self):
        with_and_without = []
        for with_medley in "01":
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = str(free.getsockname()[1])
            pair = [self.case("sharded", WITH_MEDLEY=with_medley, RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=port,
                              GLOO_SOCKET_IFNAME="lo") for rank in range(2)]
            with_and_without.append([self.result(process) for process in pair])
        plain, beside = with_and_without
        self.assertEqual(plain, beside)
        self.assertEqual(plain[0]["sums"], plain[1]["sums"])
        self.assertEqual(beside[0]["recomputed"], 6)


if __name__ == "__main__":
    case = {"torch_after": torch_after, "torch_before": torch_before, "torch_between": torch_between, "counted": counted, "thrown": thrown,
            "sharded": sharded}.get(sys.argv[1] if len(sys.argv) > 2 else "")
    if case:
        print(json.dumps(case(sys.argv[2])), flush=True)
        os._exit(0)
    unittest.main()
