"""A recogniser of signs in plain torch, as medley exported it: SPOTER's network, or that of its variant for BdSLW60.

    python model.py --check     compares with check.safetensors, rows of medley's own

Model(folder)(poses, lengths): poses [rows, frames, 108], x and y of 54 joints, as medley's plugin signs prepares them; lengths [rows], the
frames that are there. Gives logits [rows, classes]; labels.json names the classes in their order.
"""
import json
import pathlib
import struct
import sys

import torch
from torch import nn
from torch.nn import functional as F

TYPES = {"F32": torch.float32, "I64": torch.int64}


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
        self.config = json.loads((folder / "medley.json").read_text())["config"]
        self.activation = F.relu if self.config["activation"] == "relu" else F.gelu
        for name, tensor in read(folder / "model.safetensors").items():
            self.register_parameter(name.replace(".", "__"), nn.Parameter(tensor))

    def p(self, name):
        return getattr(self, name.replace(".", "__"))

    def linear(self, x, name):
        return F.linear(x, self.p(name + ".weight"), self.p(name + ".bias"))

    def norm(self, x, name):
        return F.layer_norm(x, x.shape[-1:], self.p(name + ".weight"), self.p(name + ".bias"))

    def attend(self, name, q, k, v, mask):
        q, k, v = (y.unflatten(2, (self.config["heads"], -1)).transpose(1, 2) for y in (q, k, v))
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.linear(out.transpose(1, 2).flatten(2), name + ".out_proj")

    def feed_forward(self, x, name):
        added = self.linear(self.activation(self.linear(x, name + ".ffn.up")), name + ".ffn.down")
        return self.norm(x + added, name + ".ffn_norm")

    def encoder_layer(self, x, name, mask):
        added = self.attend(name + ".self_attn", *self.linear(x, name + ".self_attn.in_proj").chunk(3, -1), mask)
        return self.feed_forward(self.norm(x + added, name + ".self_norm"), name)

    def decoder_layer(self, x, frames, name, mask):
        x = self.norm(x + x, name + ".self_norm")  # its attention to itself alone is left out, the sum around it is not
        q, (k, v) = self.linear(x, name + ".cross_attn.q_proj"), self.linear(frames, name + ".cross_attn.kv_proj").chunk(2, -1)
        return self.feed_forward(self.norm(x + self.attend(name + ".cross_attn", q, k, v, mask), name + ".cross_norm"), name)

    def forward(self, poses, lengths):
        decoders, x = self.config.get("decoder_layers", 0), poses
        inside = torch.arange(poses.shape[1]) < lengths[:, None]
        if not decoders:  # a class token among the frames
            x = torch.cat([self.p("class_token").expand(len(x), 1, -1), self.norm(self.linear(x, "in"), "in_norm")], 1)
            inside = F.pad(inside, (1, 0), value=True)
        if self.config["positions"] == "shared":
            x = x + self.p("position")
        if self.config["positions"] == "frame":
            x = x + self.p("positions")[:, :x.shape[1]]
        mask = inside[:, None, None]
        for i in range(self.config["encoder_layers"]):
            x = self.encoder_layer(x, f"encoder.{i}", mask)
        if not decoders:
            x = F.gelu(self.linear(self.norm(x[:, 0], "head_norm"), "head.0"))
            return self.linear(F.gelu(self.linear(x, "head.1")), "head.2")
        frames, query = self.norm(x, "encoder_norm"), self.p("class_query").expand(len(x), 1, -1)
        for i in range(decoders):
            query = self.decoder_layer(query, frames, f"decoder.{i}", mask)
        return self.linear(self.norm(query, "decoder_norm"), "head.0")[:, 0]


def check(folder):
    rows = read(folder / "check.safetensors")
    with torch.no_grad():
        logits = Model(folder)(rows["in.poses"], rows["in.lengths"])
    off = ((logits - rows["out.logits"]).abs().max() / rows["out.logits"].abs().max().clamp(min=1)).item()
    print(f"logits: {len(logits)} rows, at most {off:.1e} off")
    return 0 if off <= 1e-5 else 1


if __name__ == "__main__":
    if sys.argv[1:] != ["--check"]:
        sys.exit(__doc__)
    sys.exit(check(pathlib.Path(__file__).resolve().parent))
