"""The table: every line with its verdict, printed as it comes and written down as far as it goes."""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from gpu_check import lines_of_memory as memory
from gpu_check import lines_of_numbers as numbers
from gpu_check import lines_of_ranks as ranks
from gpu_check import lines_of_speed as speed
from gpu_check.bundle import make_bundle, pack, unpack
from gpu_check.results import Failed, Skipped
from gpu_check.session import Session

# Cheap ones that tell most first, for the seconds may not be enough for all.
LINES = {function.__name__: function for function in (
    numbers.version, numbers.library, numbers.start, numbers.numbers, speed.step, speed.fused, speed.masks, numbers.resume,
    numbers.repeat, numbers.tf32, ranks.nccl, ranks.pair, numbers.kernels, numbers.muon, numbers.phases, numbers.modes,
    memory.attention, memory.overflow, memory.unchecked, memory.allocator, memory.prediction, memory.waits, numbers.scores,
    numbers.generate, memory.floor, memory.second, memory.plan)}


def may_skip(name, args):
    """What a line lacks is a failure, or a check could pass that tried nothing."""
    return name in ("library", "nccl", "pair", "kernels", "fused") or bool(args.only)


def verdict(session, name, args, end):
    """What became of a line: verdict, words and figures."""
    if time.monotonic() >= end:
        return "FAIL", "no time is left", {}
    try:
        return "pass", *LINES[name](session)
    except Skipped as skipped:
        return "skipped" if may_skip(name, args) else "FAIL", str(skipped), {}
    except Failed as failed:
        return "FAIL", str(failed), {}
    except Exception as error:  # pylint: disable=broad-except  # a line's mistake must not hide the others
        return "FAIL", f"{type(error).__name__}: {error}", {}


def try_line(session, name, args, end):
    began = time.monotonic()
    limit = LINES[name].limit * (4 if session.tiny else 1)  # the machine may be busy with other things
    session.line_end = min(end, began + limit)
    result = dict(zip(("verdict", "words", "figures"), verdict(session, name, args, end)))
    seconds = round(time.monotonic() - began, 1)
    print(f"{name:<11}{result['verdict']:<8}{seconds:>6.1f} s of {limit:>3}  {result['words'][:400]}", flush=True)
    return {"line": name, "limit": limit, "seconds": seconds, **result}


def write_report(file, report):
    """After every line: whoever ends the script has what came out until then."""
    part = file.with_suffix(".part")
    part.write_text(json.dumps(report, indent=2) + "\n")
    os.replace(part, file)


def run(args, bundle, out, began):
    session = Session(args, bundle.resolve(), out.resolve())
    results = []
    report = {"device": args.device, "gpu": session.gpu, "tiny": session.tiny, "torch": str(session.torch), "lines": results}
    for name in args.only or LINES:
        results.append(try_line(session, name, args, began + args.seconds))
        write_report(out / "gpu-check.json", {**report, "seconds": round(time.monotonic() - began, 1)})
    counts = {kind: sum(result["verdict"] == kind for result in results) for kind in ("pass", "FAIL", "skipped")}
    print(f"{counts['pass']} passed, {counts['FAIL']} failed, {counts['skipped']} skipped in "
          f"{time.monotonic() - began:.0f} s; {out / 'gpu-check.json'}, {session.log}")
    return 1 if counts["FAIL"] or not counts["pass"] else 0


def named_lines(text):
    names = text.split(",")
    if unknown := set(names) - set(LINES):
        raise argparse.ArgumentTypeError(f"no such line: {', '.join(sorted(unknown))}; there are {', '.join(LINES)}")
    return [name for name in LINES if name in names]


def arguments(words):
    parser = argparse.ArgumentParser(description=words, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=["bundle", "run", "here"])
    parser.add_argument("bundle", nargs="?", help="the bundle's file, or for run its folder")
    parser.add_argument("--build", type=Path, default=Path("build/release"), help="where medley was built")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--size", choices=["tiny", "full"], help="of rows and steps (default: full, on the CPU tiny)")
    parser.add_argument("--kernels", type=Path, help="medley_kernels.so for fused (default: the bundle's)")
    parser.add_argument("--torch", help="torch's folder (default: python3's, then the one medley was built for)")
    parser.add_argument("--out", type=Path, help="where runs, log and JSON go (default: a new folder)")
    parser.add_argument("--seconds", type=float, default=560, help="of all together, unpacking included (default: 560)")
    parser.add_argument("--only", type=named_lines, help="these lines, with commas")
    args = parser.parse_args()
    if args.verb != "here" and not args.bundle:
        parser.error(f"{args.verb} needs the bundle's file")
    return args


def empty_folder(named):
    if named is None:
        return Path(tempfile.mkdtemp(prefix="gpu-check-out-"))
    if (named / "gpu-check.log").exists():
        shutil.rmtree(named)  # an earlier check's
    named.mkdir(parents=True, exist_ok=True)
    if any(named.iterdir()):
        sys.exit(f"gpu-check: {named} is not empty; choose another folder")
    return named


def main(words):
    began = time.monotonic()
    args = arguments(words)
    os.umask(0o022)  # a plugin that others may write to is refused
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    scratch = Path(tempfile.mkdtemp(prefix="gpu-check-"))
    try:
        if args.verb == "bundle":
            make_bundle(args.build, scratch)
            return pack(scratch, args.bundle)
        out = empty_folder(args.out)
        if args.verb == "here":
            make_bundle(args.build, scratch)
            return run(args, scratch, out, began)
        bundle = Path(args.bundle)
        return run(args, bundle if bundle.is_dir() else unpack(bundle, scratch), out, began)
    except subprocess.CalledProcessError as error:
        sys.exit(f"gpu-check: no bundle could be made: {error}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
