"""The command."""

import argparse
import json
import math
import os
import shutil
import struct
import sys
import tempfile
from pathlib import Path

from . import player
from .reader import PthFile, Wrong

BESIDE = ["config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
          "vocab.json", "merges.txt", "chat_template.jinja", "chat_template.json"]


def say(*words):
    print("pth-to-safetensors:", *words, file=sys.stderr)


def write_safetensors(path, file, tensors):
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, tensor in sorted(tensors.items()):
        header[name] = {"dtype": tensor.kind, "shape": tensor.sizes, "data_offsets": [at, at + tensor.bytes]}
        at += tensor.bytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    part = path.with_name(path.name + ".part")
    try:
        with open(part, "wb") as out:
            out.write(struct.pack("<Q", len(text)) + text)
            for _, tensor in sorted(tensors.items()):
                out.write(file.read(tensor))
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def write_adapter_config(folder, adapters, given):
    if given.alpha is None:
        raise Wrong(f"{given.file} has adapters, of whose alpha it says nothing: give --alpha (QwenPlayer's was 16)")
    rank, targets = player.ranks(adapters)
    config = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": rank, "lora_alpha": given.alpha, "target_modules": targets, "bias": "none"}
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n")


def write_player(file, given):
    if given.out.exists():
        raise Wrong(f"{given.out} is there already; give another folder")
    if not (given.base / "config.json").is_file():
        raise Wrong(f"{given.base} has no config.json; expected the folder of the language that the model was trained from (Qwen3-0.6B)")
    files, left = player.renamed(file)
    made = Path(tempfile.mkdtemp(prefix=given.out.name + ".", dir=given.out.resolve().parent))
    try:
        for name in BESIDE:
            if (given.base / name).is_file():
                shutil.copy(given.base / name, made)
        for name, tensors in files.items():
            write_safetensors(made / name, file, tensors)
        if player.ADAPTER in files:
            write_adapter_config(made, files[player.ADAPTER], given)
        made.chmod(0o755)
        made.rename(given.out)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    for name, tensors in files.items():
        say(f"{given.out / name}: {len(tensors)} tensors")
    if left:
        say("left aside: " + ", ".join(left))


def parse(doc, arguments):
    parser = argparse.ArgumentParser(prog="pth-to-safetensors", description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--names", choices=["player"])
    parser.add_argument("--base", type=Path)
    parser.add_argument("--alpha", type=float)
    parser.add_argument("--key")
    given = parser.parse_args(arguments)
    if given.names and given.base is None:
        parser.error("--names player needs --base, the folder of the language that the model was trained from")
    if not given.names and (given.base is not None or given.alpha is not None):
        parser.error("--base and --alpha go with --names player; without --names the tensors are written under their own names, alone")
    if given.alpha is not None and not 0 < given.alpha < math.inf:
        parser.error(f"--alpha {given.alpha}: expected a finite number above 0")
    if not given.names and given.out.suffix != ".safetensors":
        parser.error(f"{given.out}: without --names expected OUT.safetensors")
    return given


def main(doc, arguments=None):
    given = parse(doc, arguments)
    try:
        file = PthFile(given.file, given.key)
        if given.names:
            write_player(file, given)
        elif given.out.exists():
            raise Wrong(f"{given.out} is there already; give another file, or remove it")
        else:
            write_safetensors(given.out, file, file.tensors)
            say(f"{given.out}: {len(file.tensors)} tensors")
    except (Wrong, OSError) as error:
        say(error)
        return 2
    return 0
