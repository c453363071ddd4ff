#pragma once

#include <ATen/core/Tensor.h>

#include <span>
#include <string>
#include <vector>

#include <medley/task/task.h>
#include <medley/task/text_rows.h>

namespace medley {

// One forward in which every row makes one of several passes: row i makes pass kind[i]. Nothing here waits
// for the device.

// The text of one pass, for all rows; rows of another kind are not looked at.
struct TextPart {
  std::string term;                       // that the learned tokens count for; "": none are learned
  at::Tensor tokens;                      // [rows, at most the width of the forward] int64
  at::Tensor lengths;                     // [rows] int64
  const RaggedColumn* learned = nullptr;  // positions, in rows of this kind only
};

// Row i of by_kind[kind[i]]. All have the shape [rows, ...].
at::Tensor RowsOfKinds(std::span<const at::Tensor> by_kind, const at::Tensor& kind);

// The pictures and the model's "tokens" [rows, width], "lengths" and, where anything is learned,
// "supervised": part after part. A wider part is an Error.
ModelInputs MixedInputs(ModelInputs pictures, std::span<const TextPart> parts, const at::Tensor& kind,
                        std::int64_t width, std::int64_t pad);

// The cross-entropy of each part's learned tokens, by its term; `outputs` are those of MixedInputs.
Sums MixedCrossEntropy(std::span<const TextPart> parts, const ModelOutputs& outputs);

// The pass of each row in the variant "fused", by the absolute number of the row.
std::vector<std::int64_t> FusedKinds(const RowRange& rows, std::int64_t passes);
std::vector<bool> OfKind(const std::vector<std::int64_t>& kinds, std::int64_t kind);

}  // namespace medley
