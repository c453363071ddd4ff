"""A medley agent in plain torch: a language, pictures in front of its text, and a picture that it draws.

    python model.py --check     compares with check.safetensors, rows of medley's own

Model(folder)(images, tokens, lengths): images are up to four of [rows, 3, size, size] in [0, 1], tokens [rows, width], padded at the
end behind lengths [rows]. Gives logits [rows, width, words], of each token's next, and the picture [rows, 3, size, size].
"""
import json
import math
import pathlib
import struct
import sys

import torch
from torch import nn
from torch.nn import functional as F

TYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64, "BOOL": torch.bool}


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
        self.config = self.about["config"]
        for file in sorted(folder.glob("model*.safetensors")) + [folder / "medley_image.safetensors"]:
            for name, tensor in read(file).items():
                self.register_parameter(name.replace(".", "__"), nn.Parameter(tensor.float()))

    def p(self, name):
        return getattr(self, name.replace(".", "__"), None)

    def linear(self, x, name):
        return F.linear(x, self.p(name + ".weight"), self.p(name + ".bias"))

    def norm(self, x, name):
        return F.layer_norm(x, x.shape[-1:], self.p(name + ".weight"), self.p(name + ".bias"))

    def rms(self, x, name):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.config["language"]["rms_epsilon"]) * self.p(name + ".weight")

    # Pictures

    def attend(self, x, name, stack, context=None, mask=None):
        heads = lambda y: y.view(*y.shape[:2], stack["heads"], -1).transpose(1, 2)
        if context is None:
            q, k, v = self.linear(x, name + ".in_proj").chunk(3, -1)
        else:
            q, (k, v) = self.linear(x, name + ".q_proj"), self.linear(context, name + ".kv_proj").chunk(2, -1)
        out = F.scaled_dot_product_attention(heads(q), heads(k), heads(v), attn_mask=mask)
        return self.linear(out.transpose(1, 2).flatten(2), name + ".out_proj")

    def layer(self, x, name, stack, context=None, mask=None):
        def residual(x, norm, part):
            return x + part(self.norm(x, name + norm)) if stack["pre_norm"] else self.norm(x + part(x), name + norm)
        x = residual(x, ".self_norm", lambda y: self.attend(y, name + ".self_attn", stack))
        if context is not None:
            x = residual(x, ".cross_norm", lambda y: self.attend(y, name + ".cross_attn", stack, context, mask))
        return residual(x, ".ffn_norm", lambda y: self.linear(self.linear(y, name + ".ffn.up").relu(), name + ".ffn.down"))

    def encode(self, image):
        about, stack = self.config["image"], self.config["encoder"]
        x, stride = (image - about["mean"]) * about["scale"], about["patch"]
        if stack["stem"] > 0:
            x = F.gelu(F.conv2d(x, self.p("img_enc.stem.weight"), self.p("img_enc.stem.bias"), stack["stem_cell"]))
            stride = about["patch"] // stack["stem_cell"]
        x = F.conv2d(x, self.p("img_enc.patch.weight"), self.p("img_enc.patch.bias"), stride)
        grid, width = x.shape[-1], x.shape[1]
        half = width // 2
        angle = torch.arange(grid)[:, None] * 10000.0 ** (-torch.arange(0, half, 2) / half)
        code = torch.stack([angle.sin(), angle.cos()], -1).view(grid, half)
        places = torch.cat([code[:, None].expand(grid, grid, half), code[None].expand(grid, grid, half)], -1)
        x = self.norm(x.flatten(2).transpose(1, 2) + places.reshape(-1, width), "img_enc.norm_in")
        for i in range(stack["layers"]):
            x = self.layer(x, f"img_enc.layers.{i}", stack)
        return self.norm(x, "img_enc.norm_out")

    def draw(self, query, text, seen, image):
        """text [rows, width, hidden], of which seen [rows, width] is looked at; image: the one that query encodes."""
        about, stack = self.config["image"], self.config["decoder"]
        x, grid = query, about["size"] // about["patch"]
        for i in range(stack["layers"]):
            x = self.layer(x, f"img_dec.layers.{i}", stack, text, seen[:, None, None])
        x = self.norm(x, "img_dec.norm_out").transpose(1, 2).unflatten(2, (grid, grid))
        drawn = F.conv_transpose2d(x, self.p("img_dec.patch.weight"), self.p("img_dec.patch.bias"), about["patch"])
        drawn = drawn / about["scale"] + about["mean"]
        if not stack["alpha"]:
            return drawn
        opacity = 4 * F.conv_transpose2d(x, self.p("img_dec.alpha.weight"), None, about["patch"]) + self.p("img_dec.alpha.bias").view(1, 1, 1, 1)
        return torch.lerp(image.clamp(0, 1), drawn, opacity.sigmoid())

    # The language

    def turn(self, x, places):
        """Rotary positions of [rows, heads, n, dim]."""
        about, dim = self.config["language"], x.shape[-1]
        slow = about["rope_base"] ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
        if about["rope_factor"] != 1:  # Llama 3.1's
            low, high = about["rope_low_freq_factor"], about["rope_high_freq_factor"]
            blend = ((about["rope_original_positions"] * slow / (2 * math.pi) - low) / (high - low)).clamp(0, 1)
            slow = slow * (blend + (1 - blend) / about["rope_factor"])
        angle = places[:, None].double() * slow
        cos, sin = (torch.cat([part, part], -1).float() for part in (angle.cos(), angle.sin()))
        first, second = x.chunk(2, -1)
        return x * cos + torch.cat([-second, first], -1) * sin

    def text_layer(self, x, prefix, name):
        about = self.config["language"]
        heads = lambda y: y.view(*y.shape[:2], -1, about["head_dim"]).transpose(1, 2)
        norm = self.rms(x, name + ".input_layernorm")
        seen = torch.cat([self.rms(prefix, name + ".input_layernorm"), norm], 1)
        q, k = heads(self.linear(norm, name + ".self_attn.q_proj")), heads(self.linear(seen, name + ".self_attn.k_proj"))
        if about["qk_norm"]:
            q, k = self.rms(q, name + ".self_attn.q_norm"), self.rms(k, name + ".self_attn.k_norm")
        places = torch.arange(seen.shape[1])
        q, k = self.turn(q, places[prefix.shape[1]:]), self.turn(k, places)
        k, v = (y.repeat_interleave(q.shape[1] // k.shape[1], 1) for y in (k, heads(self.linear(seen, name + ".self_attn.v_proj"))))
        mask = places <= places[prefix.shape[1]:, None]
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2)
        x = x + self.linear(out, name + ".self_attn.o_proj")
        norm = self.rms(x, name + ".post_attention_layernorm")
        return x + self.linear(F.silu(self.linear(norm, name + ".mlp.gate_proj")) * self.linear(norm, name + ".mlp.up_proj"), name + ".mlp.down_proj")

    def forward(self, images, tokens, lengths):
        table = self.p("model.embed_tokens.weight")
        words = lambda ids: table[torch.tensor(ids)].expand(len(tokens), -1, -1)
        encodings = [self.encode(image) for image in images]
        parts = [part for label, encoding in zip(self.about["image_labels"], encodings)
                 for part in (words(label), encoding, words(self.about["image_end"]))]
        x = table[tokens]
        prefix = torch.cat(parts, 1) if parts else x[:, :0]
        for i in range(self.config["language"]["layers"]):
            x = self.text_layer(x, prefix, f"model.layers.{i}")
        x = self.rms(x, "model.norm")
        head = self.p("lm_head.weight")
        logits = F.linear(x, table if head is None else head)
        seen = torch.arange(tokens.shape[1]) < lengths[:, None]
        return logits, self.draw(encodings[-1], x, seen, images[-1]) if images else None


def check(folder):
    rows = read(folder / "check.safetensors")
    images = [rows[name] for name in sorted(name for name in rows if name.startswith("in.images."))]
    with torch.no_grad():
        logits, picture = Model(folder)(images, rows["in.tokens"], rows["in.lengths"])
    found = {"logits": logits.flatten(0, 1)[rows["in.supervised"] - 1], "image": picture}
    agrees = []
    for name, tensor in found.items():
        off = ((tensor - rows["out." + name]).abs().max() / rows["out." + name].abs().max().clamp(min=1)).item()
        print(f"{name}: {len(rows['in.lengths'])} rows, at most {off:.1e} off")
        agrees.append(off <= 1e-5)  # NaN does not
    return 0 if all(agrees) else 1


if __name__ == "__main__":
    if sys.argv[1:] != ["--check"]:
        sys.exit(__doc__)
    sys.exit(check(pathlib.Path(__file__).resolve().parent))
