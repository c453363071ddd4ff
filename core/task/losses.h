#pragma once

#include <ATen/core/Tensor.h>

namespace medley {

// All sums are taken in fp32 (fp64 where the model's output is fp64) and keep their graph.

// Cross-entropy of each item, added up: a scalar. `logits` [items, vocabulary], `targets` [items] int64; 0
// items give 0.
at::Tensor SumCrossEntropy(const at::Tensor& logits, const at::Tensor& targets);

// Squared error of each picture, [rows]: (1 - s) * mean over all pixels + s * mean over the region, the
// pixels where `target` differs from `input`, with s = region_share in [0, 1]. A row without such pixels
// takes the mean over all of them. `output`, `target`, `input`: [rows, 3, size, size] floats in [0, 1]. Why a
// region: an object is 24 to 370 of 50,176 pixels, so that the plain mean hardly sees it.
at::Tensor PictureErrors(const at::Tensor& output, const at::Tensor& target, const at::Tensor& input,
                         double region_share);

// Their sum over the rows: a scalar.
at::Tensor SumPictureError(const at::Tensor& output, const at::Tensor& target, const at::Tensor& input,
                           double region_share);

}  // namespace medley
