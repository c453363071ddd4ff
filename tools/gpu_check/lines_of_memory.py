"""The lines that ask whether memory is planned, held to its limit, and given back."""
import json
import re
import statistics

from gpu_check.results import Failed, expect_near, mebibytes
from gpu_check.session import line


@line(60)
def attention(session):
    """Four times as many heads of the same width take no more memory: no kernel keeps tokens by tokens for each head."""
    rows, bytes_of = 4 if session.tiny else 64, {}
    for heads in (4, 16):
        model = session.model(f"{heads}-heads", "agent-tiny.json",
                              language={"heads": heads, "kv_heads": heads // 2, "head_dim": 64 // heads})
        run = session.train(f"{heads}-heads", session.settings(["position_qa"], rows),
                            [f"model={model}", "tasks.position_qa.mode=joint", "plan=false", "steps=2"])
        step = run.timing()[-1]
        bytes_of[heads] = step["memory_peak"] - step["memory_now"]
    ratio = bytes_of[16] / bytes_of[4]
    if ratio > 1.1:
        raise Failed(f"16 heads take {ratio:.2f} times the bytes of 4: their kernel is not a fused one")
    return f"16 heads take {ratio:.3f} times the bytes of 4", bytes_of


@line(60)
def overflow(session):
    """A draw that overflows runs again in pieces and gives the same step; what can never fit is refused."""
    words = session.settings(["position_qa"], 8 if session.tiny else 512)
    more = ["plan=false", "steps=2", "data.threads=0"]
    roomy = session.train("roomy", words, more)
    timing = roomy.timing()
    low, high = timing[0]["memory_now"], max(step["memory_peak"] for step in timing)
    budget = low + max(step["memory"]["inputs"] for step in timing) + (high - low) * 6 // 10
    tight = session.train("tight", words, more + [f"budget={budget}"])
    count = tight.receipt()["overflows"]
    if count == 0:
        raise Failed(f"nothing overflowed in {budget} bytes, where the peak was {high}")
    if "That is a bug" in tight.text:
        raise Failed("bytes were left behind: " + next(x for x in tight.text.splitlines() if "That is a bug" in x))
    apart = expect_near(roomy, tight, 1e-3)
    session.medley("train", *words, "plan=false", "steps=2", "budget=2MiB", "--out", session.out / "refused", code=5)
    return f"{count} overflows, norms within {apart['grad_norm']:.1e}; 2 MiB are refused", apart


@line(75)
def unchecked(session):
    """In a budget that has room for a plan, but not for the check of a task's spec, a GPU's run is planned unchecked."""
    words = session.settings(["mem_canvas"], 1) + ["data.threads=0"]
    if not session.tiny:  # much larger than what an allocator rounds up to
        words.append(f"model={session.model('pictures', 'agent-tiny.json', image={'size': 512})}")
    session.medley("plan", *words, "--out", session.out / "plan-unchecked")
    profile = json.loads((session.out / "plan-unchecked/profile.json").read_text())
    floor, check = sum(profile["floor"].values()), profile["tasks"]["mem_canvas"]["contract"]
    run = session.train("unchecked", words, ["plan=true", "steps=2", f"budget={floor + check * 8 // 10}"])
    run.metrics()
    # Never on the CPU, where the check may take all that there is.
    waived = next((done for done, said in (("waived", "is not held against its spec"),
                                           ("made of single rows", "there is no room for two")) if said in run.text), None)
    done = waived or "made"
    if bool(waived) != session.on_gpu:
        raise Failed(f"the check takes {check} bytes, of which 8 tenths were free, and was {done}")
    if run.receipt()["overflows"] > 0:
        raise Failed(f"{run.receipt()['overflows']} overflows under a plan")
    return f"check {mebibytes(check)}, {done}; planned in 8 tenths of that", {"check": check, "floor": floor}


@line(90)
def allocator(session):
    """Planned runs with medley's own settings of the allocator, and with segments that do not grow."""
    words = session.settings(["position_qa", "arrow_to_gold", "zoom_gold"], 4 if session.tiny else "auto")
    more = ["plan=true", f"steps={20 if session.tiny else 60}", f"budget={'16MiB' if session.tiny else '1GiB'}",
            "optimizer.warmup_steps=5", "optimizer.learning_rate=0.003"]
    figures = {}
    for name, env in (("segments", None), ("segments-off", {"PYTORCH_ALLOC_CONF": "expandable_segments:False"})):
        run = session.train(name, words, more, env=env)
        later = run.later()
        figures[name] = {"milliseconds": 1000 * statistics.median(step["seconds"] for step in later),
                         "unused": max(step["memory"]["unused"] for step in later),
                         "flushes": len(run.findings("retries")), "slack": len(run.findings("slack")),
                         "overflows": run.receipt()["overflows"]}
    own, off = figures.values()
    worse = [[of[what] for what in ("overflows", "flushes", "slack")] for of in (own, off)]
    if worse[0] > worse[1]:  # an overflow is the worst of them, and comes after a flush that did not help
        raise Failed(f"more overflows, or as many and more flushes, than with segments that do not grow: {figures}")
    if session.on_gpu and not session.tiny and own["milliseconds"] > 1.25 * off["milliseconds"]:
        raise Failed(f"slower than with segments that do not grow: {figures}")
    return (f"{own['milliseconds']:.1f} ms a step, not growing {off['milliseconds']:.1f}; unused "
            f"{mebibytes(own['unused'])}, {mebibytes(off['unused'])}; flushes {own['flushes']}, {off['flushes']}; "
            f"overflows {own['overflows']}, {off['overflows']}"), figures


@line(10)
def prediction(session):
    """Of the planned run: no peak above its plan and margin, and no task's largest far below."""
    receipt, ratios = session.earlier("segments").receipt(), {}
    for task, epochs in receipt["tasks"].items():
        for epoch in epochs:
            if epoch["draws"] > 0 and epoch["predicted_peak"] > 0:
                ratios[task] = max(ratios.get(task, 0), epoch["measured_peak"]["largest"] / epoch["predicted_peak"])
    if set(ratios) != set(receipt["tasks"]):
        raise Failed(f"predicted were {sorted(ratios)} of {sorted(receipt['tasks'])}")
    if receipt["under_estimates"] > 0 or receipt["overflows"] > 0:
        raise Failed(f"{receipt['under_estimates']} under-estimates, {receipt['overflows']} overflows: {ratios}")
    if min(ratios.values()) < 0.8:
        raise Failed(f"planned is more than a quarter above what was taken: {ratios}")
    return f"measured over planned {min(ratios.values()):.3f} to {max(ratios.values()):.3f}", ratios


@line(10)
def waits(session):
    """Of the planned run: rows are there when a step wants them."""
    later = session.earlier("segments").later()
    wait, step = (statistics.mean(of) for of in ([x["data_wait_ms"] for x in later], [1000 * x["seconds"] for x in later]))
    if wait > (0.5 if session.tiny else 0.1) * step:  # the machine may be busy with other things
        raise Failed(f"{wait:.2f} of {step:.2f} ms a step are spent waiting for rows")
    return f"{wait:.3f} of {step:.1f} ms a step", {"wait_ms": wait, "step_ms": step}


@line(60)
def floor(session):
    """What is in use between steps does not grow, and is the same where tasks were measured first."""
    words = session.settings(["position_qa", "mem_canvas"], 2 if session.tiny else 16)
    steps = 16 if session.tiny else 200
    now = [step["memory_now"] for step in session.train("floor", words, ["plan=false", f"steps={steps}"]).timing()]
    before, after = max(now[steps // 4:steps // 2]), max(now[steps // 2:])
    if after > before:
        raise Failed(f"{after - before} bytes more in the second half of {steps} steps than in the quarter before it")
    planned = session.train("floor-planned", words, ["plan=true", "steps=4"]).timing()[-1]["memory_now"]
    if abs(planned - now[-1]) > (2**20 if session.on_gpu else 0):
        raise Failed(f"{planned} bytes after planning, {now[-1]} without: the floor depends on what ran before")
    return f"{mebibytes(after)} at step {steps}, planned {mebibytes(planned)}", {"bytes": after, "planned": planned}


@line(75)
def second(session):
    """Two runs in one process: the limit of the first is no obstacle to the second."""
    words = session.settings(["position_qa"], 2)
    ran = session.medley("passes", *words, f"budget={'24MiB' if session.tiny else '256MiB'}", program="medley_bench_memory")
    tables = re.findall(r"^(5|position_qa) ", ran.text, re.M)
    if tables != ["5", "position_qa"]:
        raise Failed(f"the tables of both runs were expected: {ran.tail()}")
    return f"two runs in {ran.seconds:.0f} s", {"seconds": ran.seconds}


@line(120)
def plan(session):
    """Every task of the game is measured and planned."""
    where, wanted = session.out / "plan", 2 if session.tiny else 22
    words = [session.configs / "runs/game.json", f"device={session.device}", "hours=0"]
    if session.tiny:
        words = session.settings(["position_qa", "arrow_to_gold"], 2)
    ran = session.medley("plan", *words, "--out", where)
    forms = [entry["task"] for entry in json.loads((where / "plan.json").read_text())["tasks"]]
    tasks = {form.split("@")[0] for form in forms}
    if len(tasks) != wanted:
        raise Failed(f"{len(tasks)} tasks are planned, expected {wanted}")
    return f"{wanted} tasks in {len(forms)} forms, in {ran.seconds:.0f} s", {"seconds": ran.seconds}
