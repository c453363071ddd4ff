"""A module beside plugins."""
import numpy as np


def draw_lines(rows):
    drawn = rows.uniform(26)
    begin, slope, noise = drawn[:, :1] * 2 - 1, drawn[:, 1:2] * 2 - 1, drawn[:, 2:] - 0.5
    series = begin + slope * (np.arange(24, dtype=np.float32) / np.float32(24)) + noise
    return series.astype(np.float32), np.concatenate([begin, slope], 1).astype(np.float32)
