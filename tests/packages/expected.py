"""The file that one side of a check writes and the other compares with.

tokens [rows, width] int64, lengths [rows] int64, logits [rows, width, rows of the table]; for a tokenizer also text [bytes]
uint8 and text_ids [ids] int64, that text's tokens with no special ones added.
"""

import pathlib

import torch
from safetensors.torch import load_file, save_file

FP32_LIMIT = 1e-4  # largest absolute difference
BF16_LIMIT = 0.03  # norm of the difference by the logits' norm; transformers in bf16 is 0.008 to 0.016 from itself in fp32


class Differs(Exception):
    """What was found, and what was expected."""


def load(path):
    return load_file(path)


def logits_of(model, tokens, lengths):
    """[rows, width, rows of the table]; 0 behind a row's end."""
    inside = torch.arange(tokens.shape[1]) < lengths[:, None]
    with torch.no_grad():
        logits = model(tokens, attention_mask=inside.long()).logits.float()
    return logits * inside[..., None]


def difference(model, wanted, bf16):
    """Between the model's logits and those wanted, and the limit that goes with it."""
    inside = torch.arange(wanted["tokens"].shape[1]) < wanted["lengths"][:, None]
    logits = wanted["logits"].float() * inside[..., None]
    apart = logits_of(model, wanted["tokens"], wanted["lengths"]) - logits
    return (float(apart.norm() / logits.norm()), BF16_LIMIT) if bf16 else (float(apart.abs().max()), FP32_LIMIT)


def check_logits(what, model, wanted, bf16=False):
    table, rows = model.config.vocab_size, wanted["logits"].shape[-1]
    if table != rows:
        raise Differs(f"{what}: the table has {table} rows, expected the {rows} of the logits")
    found, limit = difference(model, wanted, bf16)
    kind = "norm of the difference by the logits'" if bf16 else "largest difference of a logit"
    if not found <= limit:
        raise Differs(f"{what}: {kind} is {found:.2e}, expected at most {limit:.0e}")
    print(f"{what}: {int(wanted['lengths'].sum())} positions, {kind} is {found:.2e} (limit {limit:.0e})")


def random_rows(vocabulary, also=(), width=12):
    """Three rows of tokens and their lengths; `also` are tokens that have to occur."""
    lengths = torch.tensor([width, width // 2, 1])
    tokens = torch.randint(vocabulary, (3, width))
    tokens[0, torch.randperm(width - 1)[:len(also)] + 1] = torch.tensor(also, dtype=torch.int64)
    tokens[torch.arange(width) >= lengths[:, None]] = 0
    return tokens, lengths


def save(folder, model, tokens, lengths, **more):
    """folder/expect.safetensors, of what the model computes in its own type."""
    tensors = {"tokens": tokens, "lengths": lengths, "logits": logits_of(model, tokens, lengths), **more}
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, pathlib.Path(folder) / "expect.safetensors")
