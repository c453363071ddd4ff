#!/usr/bin/env python3
"""Adds the keys of config.json that the installed transformers knows for a Qwen3, Qwen2 or Llama to a file of names.

    python hf_keys.py [FILE, by default hf_keys.json where this file is] [--check]

--check: adds nothing, and ends with 1 where FILE lacks a key. The file has, by class, what its constructor takes, what it writes, and what the code of the models and of attention's masks
looks at (`is_causal` is known nowhere else); and the versions that were asked. Run once with each version.
"""

import argparse
import dataclasses
import inspect
import json
import pathlib
import re
import sys

import transformers

CLASSES = ("LlamaConfig", "Qwen2Config", "Qwen3Config")
# What from_pretrained and push_to_hub take, and no config.json has; and a name that the documentation of older ones misspelt.
ARGUMENTS = {"cache_dir", "commit_message", "force_download", "gguf_file", "local_files_only", "proxies", "repo_id",
             "resume_download", "return_unused_kwargs", "revision", "subfolder", "token", "trust_remote_code", "use_auth_token",
             "_configuration_file", "_from_auto", "_from_pipeline", "args", "kwargs", "self", "ignore_metadata_errors",
             "organization", "repo_path_or_name", "repo_url", "save_jinja_files", "prune_heads"}


def constructor(kind):
    """Parameters and fields of the class and those above it, what they take out of the others, and what they document."""
    names = {field.name for field in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else set()
    for base in (base for base in kind.__mro__ if base.__module__.startswith("transformers")):
        if "__init__" in vars(base):
            names.update(inspect.signature(base.__init__).parameters)
        names.update(re.findall(r'kwargs\.(?:pop|get)\(\s*"(\w+)"', inspect.getsource(base)))
        names.update(re.findall(r"^\s+(\w+) \(`[^)]*\*optional\*", base.__doc__ or "", re.MULTILINE))
    return names - ARGUMENTS


def written(kind):
    config = kind()
    names = set(json.loads(config.to_json_string(use_diff=False))) | set(config.to_diff_dict())
    for old in ("_get_generation_defaults", "_get_global_generation_defaults", "_get_non_default_generation_parameters"):
        if hasattr(config, old):
            names.update(getattr(config, old)())
    if hasattr(transformers.GenerationConfig, "_get_default_generation_params"):  # which it takes out when it reads
        names.update(transformers.GenerationConfig._get_default_generation_params())
    return names


def looked_at(kind):
    """By the model's own code, and with a default by the code for masks and for loading."""
    root = pathlib.Path(transformers.__file__).parent
    model = (root / "models" / kind.model_type / f"modeling_{kind.model_type}.py").read_text()
    names = set(re.findall(r"\bconfig\.([a-z]\w*)\b(?!\()", model))
    for file in (root / "masking_utils.py", root / "modeling_utils.py"):
        if file.exists():
            names.update(re.findall(r'getattr\((?:self\.)?config, "(\w+)",', file.read_text()))
    return {name for name in names if not hasattr(kind, name) or name in vars(kind())}


def keys_in(known):
    return {key for name in CLASSES for keys in known.get(name, {}).values() for key in keys}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).with_name("hf_keys.json"))
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    file = arguments.file
    known = json.loads(file.read_text()) if file.exists() else {"versions": []}
    before = keys_in(known)
    known["versions"] = sorted({*known["versions"], transformers.__version__}, key=lambda v: [int(n) for n in v.split(".")])
    for name in CLASSES:
        kind = getattr(transformers, name, None)  # None: a class of a later version
        if kind is None:
            continue
        lists = known.setdefault(name, {})
        for ask in (constructor, written, looked_at):
            lists[ask.__name__] = sorted({*lists.get(ask.__name__, []), *ask(kind)})
    if arguments.check:
        new = sorted(keys_in(known) - before)
        sys.exit(f"{file} lacks {', '.join(new)} of transformers {transformers.__version__}: run this without --check, and say "
                 "in core/weights/pretrained_keys.cc what each means" if new else 0)
    file.write_text(json.dumps(known, indent=1) + "\n")
    print(f"{file}: {len(keys_in(known))} keys")


if __name__ == "__main__":
    main()
