#!/usr/bin/env python3
"""Makes cases.json: the SHA-256 of what torchvision makes of made-up pictures, as preprocessors of published folders call it.

A picture's byte at (x, y, colour) is `pattern`, so that no picture lies here.

    python make.py     # with torch, torchvision and numpy
"""

import hashlib
import json
import pathlib

import numpy
import torch
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2 import functional as F

# width, height, size, shortest edge (0: both sides at once)
SIZES = [
    (1, 1, 7, 0), (1, 1, 24, 30), (2, 3, 28, 0), (3, 2, 28, 28), (5, 7, 16, 20), (28, 28, 28, 0), (28, 28, 28, 28),
    (29, 28, 28, 28), (31, 64, 24, 24), (64, 31, 24, 27), (63, 63, 16, 0), (97, 41, 28, 40), (41, 97, 28, 0),
    (100, 100, 64, 40), (150, 40, 33, 20), (200, 311, 48, 64), (333, 257, 40, 0), (640, 480, 56, 56), (480, 640, 56, 0),
    (1, 20000, 24, 0), (20000, 1, 24, 0), (1, 20000, 24, 24), (20000, 1, 24, 24), (2, 1500, 20, 10), (1999, 3, 18, 18),
]


def pattern(width, height):
    x, y, c = numpy.meshgrid(numpy.arange(width, dtype=numpy.uint64), numpy.arange(height, dtype=numpy.uint64),
                             numpy.arange(3, dtype=numpy.uint64), indexing="xy")
    mixed = (x * 2654435761 + y * 2246822519 + c * 3266489917 + 374761393) & 0xFFFFFFFF
    mixed = ((mixed ^ (mixed >> numpy.uint64(15))) * 2246822519) & 0xFFFFFFFF
    noise = (mixed >> numpy.uint64(13)) & 255
    smooth = (x * 5 + y * 3 + c * 70) & 255
    return torch.from_numpy(numpy.where((x // 8 + y // 8) % 2 == 0, noise, smooth).astype(numpy.uint8)).permute(2, 0, 1)


def resized(picture, size, edge, mode):
    height, width = picture.shape[1:]
    to = [size, size]
    if edge:
        short, long = min(width, height), max(width, height)
        to = [edge, int(edge * long / short)] if height <= width else [int(edge * long / short), edge]
    picture = F.resize(picture, to, interpolation=mode, antialias=True)
    if not edge:
        return picture
    height, width = picture.shape[1:]
    if width < size or height < size:  # transformers' TorchvisionBackend.center_crop
        across, down = max(size - width, 0), max(size - height, 0)
        picture = F.pad(picture, [across // 2, down // 2, (across + 1) // 2, (down + 1) // 2], fill=0)
        height, width = picture.shape[1:]
    return F.crop(picture, int((height - size) / 2.0), int((width - size) / 2.0), size, size)


def main():
    cases = []
    for width, height, size, edge in SIZES:
        for name, mode in (("bicubic", InterpolationMode.BICUBIC), ("bilinear", InterpolationMode.BILINEAR)):
            out = resized(pattern(width, height).contiguous(), size, edge, mode)
            digest = hashlib.sha256(out.permute(1, 2, 0).contiguous().numpy().tobytes()).hexdigest()
            cases.append({"width": width, "height": height, "size": size, "shortest_edge": edge, "resampling": name,
                          "sha256": digest})
    lines = ",\n ".join(json.dumps(case) for case in cases)
    (pathlib.Path(__file__).parent / "cases.json").write_text(f"[{lines}]\n")


if __name__ == "__main__":
    main()
