"""Adapters of medley's open in PEFT with the same logits, and PEFT's in medley.

    python adapter.py ADAPTER_LOGITS SCRATCH
"""

import pathlib
import shutil
import subprocess
import sys

import in_process

TEXT = pathlib.Path(__file__).parents[2] / "docs" / "curriculum.md"


def run(*command):
    subprocess.run([str(part) for part in command], check=True)


# Of medley's, by name: options of adapter_logits.
WRITTEN = {
    "ends": ["--targets", "q_proj,v_proj"],
    "rslora": ["--targets", "q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj", "--rslora", "--rank", 8],
    "pattern": ["--pattern", r"model\.layers\.1\..*(q|down)_proj"],
    "all": ["--pattern", "all-linear", "--tokens", "3,17,600"],
}
# Of PEFT's: options of make_adapter.py.
READ = {
    "ends": ["--targets", "q_proj,v_proj"],
    "rslora": ["--targets", "all-linear", "--rslora"],
    "pattern": ["--targets", r".*\.0\..*\.(q|down)_proj"],
    "tokens": ["--targets", "q_proj,up_proj", "--new-tokens", 5],
}


def main():
    program, scratch = sys.argv[1], pathlib.Path(sys.argv[2])
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    for kind, options in {"tied": [], "untied": ["--untied"]}.items():
        base = scratch / kind
        in_process.run("make_folder.py", base, TEXT, "--dtype", "fp32", *options)
        of_tokens = kind == "untied"  # which differ there
        for name, options in WRITTEN.items():
            if of_tokens and "--tokens" not in options:
                continue
            adapter = scratch / f"{kind}-written-{name}"
            run(program, base, adapter, *options)
            in_process.run("open_adapter.py", base, adapter, adapter / "expect.safetensors")
        for name, options in READ.items():
            if of_tokens and "--new-tokens" not in options:
                continue
            adapter = scratch / f"{kind}-read-{name}"
            in_process.run("make_adapter.py", base, adapter, *options)
            run(program, base, adapter, "--compare")


if __name__ == "__main__":
    main()
