#!/usr/bin/env python3
"""Makes the folders of the parity test: small random models as transformers saves them, and what transformers computes of them.

Each folder has config.json and model.safetensors, or shards and their index, and expect.safetensors:
  tokens [rows, width] int64, lengths [rows] int64: rows at the left edge, id 0 behind their ends (and also inside of them)
  logits [rows, width, vocabulary]: of the same rows padded at the left, moved back; 0 behind a row's end
  loss [1]: mean cross-entropy of the next token, over the targets inside the lengths
  grad.NAME: the gradient of that loss by every parameter, by its published name; tied tables have one, of both uses
  greedy [rows, 64] int64: what greedy decoding appends to each row, with nothing that ends it
Of a float64 model with the file's weights, stored as fp32. transformers keeps the norms' statistics and RoPE's cosines in
fp32 even there, so the figures are good to about 1e-6.

    python make.py [DIR, by default where this file is]
"""

import argparse
import dataclasses
import json
import pathlib
import shutil

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM

WIDTH = 12
NEW_TOKENS = 64
MARGIN = 1e-4  # by which the best next token must lead, so that rounding cannot choose another


@dataclasses.dataclass
class Case:
    name: str
    kv_heads: int
    groups: int
    config: dict
    dtype: torch.dtype = torch.float32
    shard_bytes: int | None = None
    repeats_head: bool = False  # a tied lm_head.weight lies in the file all the same
    old_spelling: bool = False
    absent: tuple = ()  # fields taken out of config.json, so that the class's defaults count


def rope(theta, **scaling):
    return {"rope_theta": theta, "rope_type": "default", **scaling}


def llama3(theta, factor, trained_positions):
    return rope(theta, rope_type="llama3", factor=factor, low_freq_factor=1.0, high_freq_factor=4.0,
                original_max_position_embeddings=trained_positions)


def cases():
    return [
        Case("qwen3-kv1-group1-tied", 1, 1, dict(
            model_type="qwen3", hidden_size=32, intermediate_size=64, vocab_size=120, head_dim=64,
            tie_word_embeddings=True, rope_parameters=rope(1e6))),
        Case("qwen3-kv2-group2-untied", 2, 2, dict(
            model_type="qwen3", hidden_size=40, intermediate_size=32, vocab_size=100, head_dim=16, rms_norm_eps=1e-3,
            tie_word_embeddings=False, rope_parameters=rope(1e6))),
        Case("qwen3-kv1-group4-bias", 1, 4, dict(
            model_type="qwen3", hidden_size=40, intermediate_size=56, vocab_size=90, head_dim=8, attention_bias=True,
            tie_word_embeddings=False, rope_parameters=rope(5e5))),
        Case("qwen3-kv2-group1-defaults", 2, 1, dict(
            model_type="qwen3", hidden_size=16, intermediate_size=32, vocab_size=80, head_dim=128,
            tie_word_embeddings=False, rope_parameters=rope(1e4)),
            absent=("head_dim", "rope_parameters", "tie_word_embeddings", "rms_norm_eps", "attention_bias", "hidden_act",
                    "attention_dropout", "max_position_embeddings", "use_sliding_window", "sliding_window",
                    "max_window_layers", "layer_types", "dtype")),
        Case("qwen3-kv4-group2-sharded", 4, 2, dict(
            model_type="qwen3", hidden_size=24, intermediate_size=40, vocab_size=110, head_dim=16,
            tie_word_embeddings=False, rope_parameters=rope(1e6)), shard_bytes=24_000),
        Case("qwen3-kv2-group4-bf16-tied", 2, 4, dict(
            model_type="qwen3", hidden_size=16, intermediate_size=48, vocab_size=200, head_dim=32,
            tie_word_embeddings=True, rope_parameters=rope(1e6)), dtype=torch.bfloat16),
        Case("qwen3-kv4-group1-repeated-head-old-spelling", 4, 1, dict(
            model_type="qwen3", hidden_size=16, intermediate_size=64, vocab_size=130, head_dim=32,
            tie_word_embeddings=True, rope_parameters=rope(1e6)), repeats_head=True, old_spelling=True),
        Case("qwen3-kv4-group4-tied", 4, 4, dict(
            model_type="qwen3", hidden_size=32, intermediate_size=24, vocab_size=64, head_dim=8,
            tie_word_embeddings=True, rope_parameters=rope(1e6))),
        Case("qwen2-kv1-group2-untied", 1, 2, dict(
            model_type="qwen2", hidden_size=32, intermediate_size=56, vocab_size=96,
            tie_word_embeddings=False, rope_parameters=rope(1e6))),
        Case("qwen2-kv2-group2-fp16-tied-old-spelling", 2, 2, dict(
            model_type="qwen2", hidden_size=32, intermediate_size=40, vocab_size=72,
            tie_word_embeddings=True, rope_parameters=rope(1e6)), dtype=torch.float16, old_spelling=True),
        Case("llama-kv2-group1-llama3-rope", 2, 1, dict(
            model_type="llama", hidden_size=32, intermediate_size=40, vocab_size=88,
            tie_word_embeddings=False, rope_parameters=llama3(1e4, 8.0, 64))),
        Case("llama-kv1-group4-llama3-rope-old-spelling", 1, 4, dict(
            model_type="llama", hidden_size=32, intermediate_size=24, vocab_size=104, head_dim=32, attention_bias=True,
            tie_word_embeddings=True, rope_parameters=llama3(5e5, 4.0, 32)), old_spelling=True),
    ]


def random_weights(model):
    """Matrices that keep their input's scale, biases and norms that matter, logits that are not flat."""
    for name, weight in model.named_parameters():
        noise = torch.randn(weight.shape)
        if "norm" in name:
            weight.data.copy_(1 + 0.2 * noise)
        elif weight.dim() == 1:
            weight.data.copy_(0.3 * noise)
        elif "embed_tokens" in name or "lm_head" in name:
            weight.data.copy_((0.2 if model.config.tie_word_embeddings else 0.4) * noise)  # else tied logits repeat the input
        else:
            weight.data.copy_(noise / weight.shape[1] ** 0.5)


def respell(config):
    """As transformers 4 wrote it."""
    rope_parameters = config.pop("rope_parameters")
    config["rope_theta"] = rope_parameters.pop("rope_theta")
    kind = rope_parameters.pop("rope_type")
    config["rope_scaling"] = None if kind == "default" else {"type": kind, **rope_parameters}
    config["torch_dtype"] = config.pop("dtype")
    config.pop("layer_types", None)
    config["transformers_version"] = "4.51.0"
    return config


def save_folder(case, folder):
    fields = {"num_hidden_layers": 2, "num_key_value_heads": case.kv_heads, "num_attention_heads": case.kv_heads * case.groups,
              "max_position_embeddings": 512, "bos_token_id": None, "eos_token_id": None, **case.config}
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**fields), dtype=torch.float32)
    random_weights(model)
    size = {} if case.shard_bytes is None else {"max_shard_size": case.shard_bytes}
    model.to(case.dtype).save_pretrained(folder, **size)

    path = folder / "config.json"
    config = json.loads(path.read_text())
    if case.old_spelling:
        config = respell(config)
    path.write_text(json.dumps({key: config[key] for key in config if key not in case.absent}, indent=2) + "\n")
    if case.repeats_head:
        path = folder / "model.safetensors"
        weights = load_file(path)
        save_file(weights | {"lm_head.weight": weights["model.embed_tokens.weight"].clone()}, path, {"format": "pt"})


def left_padded(tokens, lengths):
    ids = [row.roll(WIDTH - n) for row, n in zip(tokens, lengths.tolist(), strict=True)]
    return torch.stack(ids), (torch.arange(WIDTH) >= WIDTH - lengths[:, None]).long()


def greedy(model, ids, mask):
    out = model.generate(ids, attention_mask=mask, do_sample=False, max_new_tokens=NEW_TOKENS, pad_token_id=0,
                         eos_token_id=None, output_scores=True, return_dict_in_generate=True)
    best = torch.stack(out.scores).topk(2, dim=-1).values
    lead = float((best[..., 0] - best[..., 1]).min())
    if not lead >= MARGIN:
        raise SystemExit(f"two next tokens are {lead:.1e} apart, expected at least {MARGIN}: choose another seed")
    return out.sequences[:, ids.shape[1]:]


def expectations(model, tokens, lengths):
    ids, mask = left_padded(tokens, lengths)
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    logits = model(ids, attention_mask=mask, position_ids=positions).logits
    rows = zip(logits, lengths.tolist(), strict=True)
    logits = torch.stack([F.pad(row[WIDTH - n:], (0, 0, 0, WIDTH - n)) for row, n in rows])
    targets = torch.arange(1, WIDTH) < lengths[:, None]
    loss = F.cross_entropy(logits[:, :-1][targets], tokens[:, 1:][targets])
    loss.backward()
    return {
        "tokens": tokens,
        "lengths": lengths,
        "logits": logits.detach().float(),
        "loss": loss.detach().float().reshape(1),
        "greedy": greedy(model, ids, mask),
        **{f"grad.{name}": weight.grad.float() for name, weight in model.named_parameters()},
    }


def make(case, seed, folder):
    shutil.rmtree(folder, ignore_errors=True)
    torch.manual_seed(seed)
    save_folder(case, folder)
    # Not eager attention: its fp32 softmax turns float64's mask into -inf, and a pad at the left edge into NaN.
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64, attn_implementation="sdpa").eval()
    lengths = torch.tensor([WIDTH, int(torch.randint(2, WIDTH, ())), 1])
    tokens = torch.randint(model.config.vocab_size, (len(lengths), WIDTH))
    tokens[0, 3] = 0
    tokens[torch.arange(WIDTH) >= lengths[:, None]] = 0
    expected = expectations(model, tokens, lengths)
    save_file({name: value.contiguous() for name, value in expected.items()}, folder / "expect.safetensors")
    print(f"{case.name}: loss {float(expected['loss']):.4f}, {len(expected['greedy'].unique())} tokens in greedy decoding")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dir", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).parent)
    out = parser.parse_args().dir
    for seed, case in enumerate(cases(), start=1):
        make(case, seed, out / case.name)


if __name__ == "__main__":
    main()
