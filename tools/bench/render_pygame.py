"""Draws the scenes of medley_bench_render with pygame too, compares the pictures, and prints one table of speeds.

Run by tools/bench/render, which sets pygame up. All times are CPU seconds of one thread.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.update(SDL_VIDEODRIVER="dummy", PYGAME_HIDE_SUPPORT_PROMPT="1")
import numpy as np  # noqa: E402
import pygame  # noqa: E402

WHITE, BLACK, GREEN, RED, GOLD = (255, 255, 255), (0, 0, 0), (0, 255, 0), (255, 0, 0), (255, 200, 0)


def draw_agent(surface, state, scale):
    (x, y), radius = state["agent"], state["agent_radius"]
    eye = [
        scale * (x + 0.6 * radius * math.cos(state["direction"])),
        scale * (y + 0.6 * radius * math.sin(state["direction"])),
    ]
    pygame.draw.circle(surface, GREEN, (scale * x, scale * y), scale * radius)
    pygame.draw.circle(surface, RED, eye, 0.4 * scale * radius)


def draw_gold(surface, state, scale):
    for x, y in state["gold"]:
        pygame.draw.circle(surface, GOLD, (scale * x, scale * y), scale * state["gold_radius"])


def wall_corner(wall):
    x, y, _, h, angle = wall
    assert angle in (0, math.pi / 2), "the scenes have walls along the axes only"
    return (x - h if angle else x), y


def draw_as_the_game(state, size):
    """As the game does it: a new surface a picture, and each wall a sprite that is turned and pasted."""
    surface = pygame.Surface((size, size))
    surface.fill(WHITE)
    draw_agent(surface, state, size)
    for wall in state["walls"]:
        sprite = pygame.Surface((int(size * wall[2]), int(size * wall[3])))
        sprite.fill(WHITE)
        sprite.set_colorkey(WHITE)
        pygame.draw.rect(sprite, BLACK, sprite.get_rect())
        sprite = pygame.transform.rotate(sprite, -math.degrees(wall[4]))
        x, y = wall_corner(wall)
        surface.blit(sprite, (int(size * x), int(size * y)))
    draw_gold(surface, state, size)
    return surface


def draw_quickly(surface, state, size):
    """As quickly as pygame can: one surface for all, walls as rectangles."""
    surface.fill(WHITE)
    draw_agent(surface, state, size)
    for wall in state["walls"]:
        x, y = wall_corner(wall)
        w, h = (wall[3], wall[2]) if wall[4] else (wall[2], wall[3])
        pygame.draw.rect(surface, BLACK, (int(size * x), int(size * y), int(size * w), int(size * h)))
    draw_gold(surface, state, size)


# Each loop returns [pictures, 3, size, size]; those that give bytes fill `batch`.


def game_loop(states, size, _):
    """The game's loop: array3d, divided by 255, into a batch of floats whose channels then move to the front."""
    batch = np.zeros((len(states), size, size, 3), np.float32)
    for i, state in enumerate(states):
        batch[i] = pygame.surfarray.array3d(draw_as_the_game(state, size)) / 255
    return np.ascontiguousarray(batch.transpose(0, 3, 1, 2))


def bytes_loop(states, size, batch):
    """The game's drawing, but its bytes straight into their place."""
    for i, state in enumerate(states):
        batch[i] = pygame.surfarray.array3d(draw_as_the_game(state, size)).transpose(2, 0, 1)
    return batch


def quick_loop(states, size, batch):
    """The quickest that we found: nothing is allocated, the surface's memory is read in place."""
    surface = pygame.Surface((size, size))
    for i, state in enumerate(states):
        draw_quickly(surface, state, size)
        batch[i] = pygame.surfarray.pixels3d(surface).transpose(2, 0, 1)
    return batch


LOOPS = {"game": game_loop, "bytes": bytes_loop, "quick": quick_loop}


def empty_batch(scenes):
    return np.zeros((len(scenes["states"]), 3, scenes["size"], scenes["size"]), np.uint8)


def seconds_a_picture(loop, scenes, at_least=0.2):
    batch = empty_batch(scenes)
    pictures, start = 0, time.thread_time()
    while (spent := time.thread_time() - start) < at_least:
        loop(scenes["states"], scenes["size"], batch)
        pictures += len(batch)
    return spent / pictures


def compare(scenes, folder):
    """Prints how many pixels ours and the pictures of the three loops do not share, the worst loop's, and stops
    where any differ: the times of unequal work say nothing."""
    ours = np.fromfile(folder / scenes["pictures"], np.uint8).reshape(empty_batch(scenes).shape)
    share, pictures = 0, 0
    for loop in LOOPS.values():
        theirs = loop(scenes["states"], scenes["size"], empty_batch(scenes))
        if theirs.dtype != np.uint8:
            theirs = np.rint(255 * theirs).astype(np.uint8)
        differ = (ours != theirs).any(axis=1)
        share = max(share, differ.mean())
        pictures = max(pictures, int(differ.any(axis=(1, 2)).sum()))
    print(f"{scenes['name']}: {pictures} of {len(ours)} pictures differ from pygame's, in {share:.4%} of all pixels")
    if pictures:
        sys.exit("the pictures are not equal, so their times are not compared")


def run_bench(binary):
    """CPU seconds an item, or a byte where there are no items, by benchmark."""
    out = subprocess.run(
        [binary, "--benchmark_format=json", "--benchmark_min_time=0.2"],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ).stdout
    return {
        b["name"]: 1 / (b["items_per_second"] or b["bytes_per_second"]) for b in json.loads(out)["benchmarks"]
    }


def one_round(binary, all_scenes):
    times = run_bench(binary)
    for scenes in all_scenes:
        for name, loop in LOOPS.items():
            times[f"{name}/{scenes['name']}"] = seconds_a_picture(loop, scenes)
    return times


def print_table(rounds):
    def median(of):
        return statistics.median(of(times) for times in rounds)

    def ratio(a, b):  # paired: both from one round
        return f"{median(lambda times: times[a] / times[b]):.0f}x" if a in rounds[0] else "-"

    for name in (name for name in rounds[0] if name.startswith("write/")):
        print(f"{name}: {median(lambda times: 1e-9 / times[name]):.1f} GB/s")
    writes = [name for name in ("write/memset", "write/stream") if name in rounds[0]]
    print()
    print(
        "| scenes | pictures/s and core | a picture | per-pixel oracle | pygame, the game's loop | pygame, bytes"
        " | pygame, quickest | through memory | against writing it |"
    )
    print("|---" * 9 + "|")
    for name in (name.removeprefix("medley/") for name in rounds[0] if name.startswith("medley/")):
        ours, memory = "medley/" + name, "memory/" + name
        size = int(name.split("/")[1])
        # Against the quicker of the two ways to write memory.
        written = median(lambda times: times[memory] / min(times[write] for write in writes) / (3 * size * size))
        print(
            f"| {name} | {median(lambda times: 1 / times[ours]):,.0f} | {median(lambda times: 1e6 * times[ours]):.2f} us"
            f" | {ratio('oracle/' + name, ours)} | {ratio('game/' + name, ours)} | {ratio('bytes/' + name, ours)}"
            f" | {ratio('quick/' + name, ours)} | {median(lambda times: 1e6 * times[memory]):.2f} us"
            f" | {written:.1f}x ({1 / written:.0%} of the bandwidth) |"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary", help="medley_bench_render")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # the programs take turns on one core
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([options.binary, f"--export={folder}"], check=True)
        all_scenes = json.loads((folder / "scenes.json").read_text())
        print(f"pygame {pygame.version.ver}, numpy {np.__version__}; medians of {options.rounds} rounds\n")
        for scenes in all_scenes:
            compare(scenes, folder)
    print()
    print_table([one_round(options.binary, all_scenes) for _ in range(options.rounds)])


if __name__ == "__main__":
    sys.exit(main())
