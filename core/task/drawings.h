#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include <medley/task/batch.h>

namespace medley {

// Pictures, bytes [rows, 3, height, width] on the CPU, of what is none: for sheets and for `medley sample`.

struct LineDrawing {
  std::int64_t height = 96, width = 192;  // pixels
  double low = 0, high = 0;               // the values at the lower and upper edge; equal: those of all rows
};

// Values over time: `series` [rows, frames, lines] of any type, a line in a colour of its own for each of the
// last dimension, frames from left to right. What is not finite leaves a gap; a frame between two gaps is a
// dot. `lengths` [rows] int64: frames of each row; undefined: all.
at::Tensor DrawLines(const at::Tensor& series, const at::Tensor& lengths = {},
                     const LineDrawing& drawing = {});

// A slice of each volume, in grey between the smallest and the largest finite value of all: `volumes` [rows,
// depth, height, width], or [rows, frames, depth, height, width], of which the first frame counts. `slice`: 0
// to depth - 1; < 0: the middle one.
at::Tensor DrawSlice(const at::Tensor& volumes, std::int64_t slice = -1);

// A column of the batch, by what it looks like: bytes [rows, 3, height, width] are pictures; floats [rows,
// frames, lines] become lines, of as many frames as the column "lengths" says where there is one; bytes and
// floats of four or five dimensions become a slice of a volume. Undefined: it is none of these.
at::Tensor DrawColumn(const Batch& batch, const at::Tensor& column);

}  // namespace medley
