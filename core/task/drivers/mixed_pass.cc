#include <medley/task/drivers/mixed_pass.h>

#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/where.h>

#include <medley/task/losses.h>

namespace medley {

at::Tensor RowsOfKinds(std::span<const at::Tensor> by_kind, const at::Tensor& kind) {
  at::Tensor rows = by_kind[0];
  std::vector<std::int64_t> shape(static_cast<std::size_t>(rows.dim()), 1);
  shape[0] = -1;
  for (std::size_t k = 1; k < by_kind.size(); ++k) {
    rows = at::where(kind.eq(static_cast<std::int64_t>(k)).view(shape), by_kind[k], rows);
  }
  return rows;
}

ModelInputs MixedInputs(ModelInputs inputs, std::span<const TextPart> parts, const at::Tensor& kind,
                        std::int64_t width, std::int64_t pad) {
  std::vector<at::Tensor> tokens, lengths, supervised;
  for (const TextPart& part : parts) {
    const std::int64_t rest = width - part.tokens.size(1);
    if (rest < 0) {  // a negative pad would cut the text
      throw Error("a text of " + std::to_string(part.tokens.size(1)) + " tokens does not fit into the " +
                  std::to_string(width) + " of a mixed forward");
    }
    tokens.push_back(at::constant_pad_nd(part.tokens, {0, rest}, pad));
    lengths.push_back(part.lengths);
    if (part.learned != nullptr) supervised.push_back(FlatPositions(*part.learned, width));
  }
  inputs.push_back({.name = "tokens", .tensor = RowsOfKinds(tokens, kind), .key = ""});
  inputs.push_back({.name = "lengths", .tensor = RowsOfKinds(lengths, kind), .key = ""});
  if (!supervised.empty()) inputs.push_back({.name = "supervised", .tensor = at::cat(supervised), .key = ""});
  return inputs;
}

Sums MixedCrossEntropy(std::span<const TextPart> parts, const ModelOutputs& outputs) {
  Sums sums;
  std::int64_t begin = 0;
  for (const TextPart& part : parts) {
    if (part.learned == nullptr) continue;
    const std::int64_t items = part.learned->values.size(0);
    sums[part.term] = SumLosses(outputs.at("losses").narrow(0, begin, items));
    begin += items;
  }
  return sums;
}

std::vector<std::int64_t> FusedKinds(const RowRange& rows, std::int64_t passes) {
  std::vector<std::int64_t> kinds;
  for (std::int64_t row = rows.begin; row < rows.begin + rows.count; ++row) kinds.push_back(row % passes);
  return kinds;
}

std::vector<bool> OfKind(const std::vector<std::int64_t>& kinds, std::int64_t kind) {
  std::vector<bool> mine;
  for (const std::int64_t one : kinds) mine.push_back(one == kind);
  return mine;
}

}  // namespace medley
