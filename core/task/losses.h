#pragma once

#include <ATen/core/Tensor.h>

namespace medley {

// All sums are taken in fp32 (fp64 where the model's output is fp64) and keep their graph.

// Cross-entropy of each item, added up: a scalar. `logits` [items, classes], `targets` [items] int64; 0 items
// give 0. `smoothing` in [0, 1]: so much of the target is spread evenly over all classes (label smoothing).
at::Tensor SumCrossEntropy(const at::Tensor& logits, const at::Tensor& targets, double smoothing = 0);

// The losses of items, [items] as a model's output "losses" has them, added up in the order of
// SumCrossEntropy: a scalar of the same bits.
at::Tensor SumLosses(const at::Tensor& losses);

// How far a number is from its target, by d = output - target: d^2, |d|, or Huber's: d^2 / 2 up to |d| = 1,
// and |d| - 1/2 beyond.
enum class NumberError { kSquared, kAbsolute, kHuber };

// Of each row the mean over its numbers, [rows]: a row is one item. `output` and `target` [rows, ...] have
// one shape: an Error names both where they have not, for [rows] against [rows, 1] would make [rows, rows].
at::Tensor NumberErrors(const at::Tensor& output, const at::Tensor& target,
                        NumberError error = NumberError::kSquared);

// Squared error of each picture, [rows]: (1 - s) * mean over all pixels + s * mean over the region, with s =
// region_share in [0, 1]. A row whose region is empty takes the mean over all pixels. `output`, `target`
// [rows, 3, size, size] floats in [0, 1]; `region` [rows, 1, size, size] bool, or floats that say how much a
// pixel counts there; it may be undefined where s is 0. Why a region: an object is 24 to 370 of 50,176
// pixels, so that the plain mean hardly sees it.
at::Tensor RegionErrors(const at::Tensor& output, const at::Tensor& target, const at::Tensor& region,
                        double region_share);

// The pixels where two pictures differ in any colour, [rows, 1, size, size] bool.
at::Tensor DifferentPixels(const at::Tensor& a, const at::Tensor& b);

// RegionErrors in the region where `target` differs from `input`.
at::Tensor PictureErrors(const at::Tensor& output, const at::Tensor& target, const at::Tensor& input,
                         double region_share);

// Their sum over the rows: a scalar.
at::Tensor SumPictureError(const at::Tensor& output, const at::Tensor& target, const at::Tensor& input,
                           double region_share);

}  // namespace medley
