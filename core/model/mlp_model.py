"""A medley model of linear maps and ReLUs (MlpModel) in plain torch.

    python model.py --check     compares with check.safetensors, rows of medley's own

Model(folder)(*inputs): the inputs that medley.json names, in its order, each [rows, ...]. Gives its outputs by name, each [rows, n];
labels.json, where it is there, names classes in their order.
"""
import json
import pathlib
import struct
import sys

import torch
from torch import nn
from torch.nn import functional as F

TYPES = {"F64": torch.float64, "F32": torch.float32, "I64": torch.int64, "U8": torch.uint8, "BOOL": torch.bool}


def read(path):
    """The tensors of a safetensors file."""
    data = path.read_bytes()
    begin = 8 + struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:begin]).items():
        if name != "__metadata__":
            first, last = entry["data_offsets"]
            flat = torch.frombuffer(bytearray(data[begin + first:begin + last]), dtype=TYPES[entry["dtype"]])
            tensors[name] = flat.view(entry["shape"])
    return tensors


class Model(nn.Module):
    def __init__(self, folder):
        super().__init__()
        self.about = json.loads((folder / "medley.json").read_text())
        for name, tensor in read(folder / "model.safetensors").items():
            self.register_parameter(name.replace(".", "__"), nn.Parameter(tensor))

    def linear(self, x, name):
        name = name.replace(".", "__")
        return F.linear(x, getattr(self, name + "__weight"), getattr(self, name + "__bias"))

    def forward(self, *inputs):
        x = torch.cat([one.flatten(1).float() for one in inputs], 1)
        for i in range(self.about["config"]["layers"]):
            x = self.linear(x, f"layers.{i}").relu()
        return {name: self.linear(x, name) for name in self.about["outputs"]}


def check(folder):
    rows, net = read(folder / "check.safetensors"), Model(folder)
    with torch.no_grad():
        found = net(*(rows["in." + name] for name in net.about["inputs"]))
    agrees = []
    for name in found:
        if "out." + name in rows:
            theirs = rows["out." + name].flatten(1)
            off = ((found[name] - theirs).abs().max() / theirs.abs().max().clamp(min=1)).item()
            print(f"{name}: {len(theirs)} rows, at most {off:.1e} off")
            agrees.append(off <= 1e-5)  # NaN does not
    return 0 if agrees and all(agrees) else 1


if __name__ == "__main__":
    if sys.argv[1:] != ["--check"]:
        sys.exit(__doc__)
    sys.exit(check(pathlib.Path(__file__).resolve().parent))
