#include <medley/testing/made_inputs.h>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <vector>

#include <medley/base/random.h>
#include <medley/contract/recorded_model.h>

namespace medley::check {
namespace {

constexpr std::int64_t kTimes = 2;  // that an input comes which may come often

bool HasRowsInFront(const TensorSpec& tensor) {
  return tensor.dimensions.size() > 0 && tensor.dimensions[0] == "rows";
}

}  // namespace

const ModelSize* MadeInputs::MeasuredBy(const TensorSpec& input) const {
  for (const ModelSize& size : model_.spec().sizes) {
    if (!size.lengths.empty() && size.lengths == input.name) return &size;
  }
  return nullptr;
}

std::int64_t MadeInputs::Below(const TensorSpec& input) const {
  return input.below > 0 ? input.below : input.name == "tokens" ? model_.vocabulary() : 0;
}

std::optional<std::string> MadeInputs::Lacks() const {
  for (const ModelSize& size : model_.spec().sizes) {
    if (size.ragged) return "whose row each item of the size '" + std::string(size.name) + "' is";
  }
  for (const TensorSpec& input : model_.spec().inputs) {
    const std::string name = "'" + std::string(input.name) + "'";
    if (!HasRowsInFront(input)) return "what " + name + " is, which has no rows in front";
    if (input.dtype == "int64" && MeasuredBy(input) == nullptr && Below(input) == 0)
      return "integers of " + name + " have no bound (.below in the model's spec)";
  }
  return std::nullopt;
}

SeenSizes MadeInputs::SizesOfRow(std::int64_t row) const {
  SeenSizes seen{.rows = 1, .sizes = {}};
  for (const ModelSize& size : model_.spec().sizes) {
    const bool is_short = !size.lengths.empty() && row % 3 == 0;
    seen.sizes[std::string(size.name)] = is_short ? (width_ + 1) / 2 : width_;
  }
  for (const TensorSpec& input : model_.spec().inputs) {
    if (!input.times.empty()) seen.sizes[std::string(input.times)] = kTimes;
  }
  return seen;
}

at::Tensor MadeInputs::Made(const TensorSpec& input, std::int64_t row, std::int64_t time,
                            at::ScalarType type) const {
  const SeenSizes seen = SizesOfRow(row);
  const std::vector<std::int64_t> shape = DimensionsOf(input, seen, config_, model_.vocabulary());
  if (const ModelSize* size = MeasuredBy(input); size != nullptr)
    return at::full(shape, seen.sizes.find(size->name)->second, at::kLong);
  at::Generator generator = at::detail::createCPUGenerator(CombineSeeds(
      CombineSeeds(HashName(input.name), static_cast<std::uint64_t>(row)), static_cast<std::uint64_t>(time)));
  if (input.dtype == "float") return at::empty(shape, at::kDouble).normal_(0, 1, generator).to(type);
  if (input.dtype == "int64") return at::empty(shape, at::kLong).random_(0, Below(input), generator);
  if (input.dtype == "byte") return at::empty(shape, at::kByte).random_(0, 256, generator);
  at::Tensor bits = at::empty(shape, at::kLong).random_(0, 2, generator).to(at::kBool);
  if (bits.dim() > 1 && bits.numel() > 0)
    bits.select(-1, 0).fill_(true);  // a mask that hides all is nobody's
  return bits;
}

ModelInputs MadeInputs::Rows(std::int64_t begin, std::int64_t count, at::ScalarType type) const {
  ModelInputs inputs;
  for (const TensorSpec& input : model_.spec().inputs) {
    for (std::int64_t time = 0; time < (input.times.empty() ? 1 : kTimes); ++time) {
      std::vector<at::Tensor> rows;
      for (std::int64_t row = begin; row < begin + count; ++row) rows.push_back(Made(input, row, time, type));
      inputs.push_back(
          {.name = std::string(input.name), .tensor = JoinRows(rows, /*with_zeros=*/true), .key = ""});
    }
  }
  return inputs;
}

}  // namespace medley::check
