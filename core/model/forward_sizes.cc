#include <medley/model/forward_sizes.h>

#include <algorithm>

#include <medley/base/suggest.h>

namespace medley {
namespace {

const ModelSize* SizeNamed(const ModelSpec& spec, std::string_view name) {
  for (const ModelSize& size : spec.sizes) {
    if (size.name == name) return &size;
  }
  return nullptr;
}

const TensorSpec* InputNamed(const ModelSpec& spec, std::string_view name) {
  for (const TensorSpec& input : spec.inputs) {
    if (input.name == name) return &input;
  }
  return nullptr;
}

bool IsNumber(std::string_view dimension) {
  return !dimension.empty() && dimension.find_first_not_of("0123456789") == std::string_view::npos;
}

bool HasType(const at::Tensor& tensor, const TensorSpec& declared) {
  return declared.dtype == "float" ? tensor.is_floating_point()
                                   : tensor.scalar_type() == TypeOf(declared, at::kFloat);
}

}  // namespace

at::ScalarType TypeOf(const TensorSpec& declared, at::ScalarType float_type) {
  if (declared.dtype == "int64") return at::kLong;
  if (declared.dtype == "bool") return at::kBool;
  return declared.dtype == "byte" ? at::kByte : float_type;
}

SeenSizes SizesOf(const ModelSpec& spec, const ModelInputs& inputs) {
  SeenSizes seen;
  for (const ModelSize& size : spec.sizes) seen.sizes[std::string(size.name)] = 0;
  const auto widen = [&](std::string_view name, std::int64_t to) {
    std::int64_t& size = seen.sizes[std::string(name)];
    size = std::max(size, to);
  };
  ForwardSizes times;
  for (const ModelInput& input : inputs) {
    const TensorSpec* declared = InputNamed(spec, input.name);
    if (declared == nullptr) continue;  // who runs the pass says so
    if (!declared->times.empty()) widen(declared->times, ++times[input.name]);
    const auto dimensions = static_cast<std::int64_t>(declared->dimensions.size());
    for (std::int64_t i = 0; i < std::min(dimensions, input.tensor.dim()); ++i) {
      const std::string_view name = declared->dimensions[static_cast<std::size_t>(i)];
      if (name == "rows") seen.rows = std::max(seen.rows, input.tensor.size(i));
      if (SizeNamed(spec, name) != nullptr) widen(name, input.tensor.size(i));
    }
  }
  return seen;
}

SeenSizes LongestSizesOf(const ModelSpec& spec, const ModelInputs& inputs) {
  SeenSizes seen = SizesOf(spec, inputs);
  for (const ModelSize& size : spec.sizes) {
    if (size.lengths.empty()) continue;
    for (const ModelInput& input : inputs) {
      if (input.name == size.lengths && input.tensor.numel() > 0)
        seen.sizes[std::string(size.name)] = input.tensor.max().item<std::int64_t>();
    }
  }
  return seen;
}

std::string MisfitOf(const TensorSpec& declared, const at::Tensor& tensor, std::int64_t rows) {
  bool fits = tensor.defined() && tensor.dim() == static_cast<std::int64_t>(declared.dimensions.size()) &&
              HasType(tensor, declared);
  for (std::size_t i = 0; fits && i < declared.dimensions.size(); ++i) {
    const std::string_view name = declared.dimensions[i];
    const std::int64_t size = tensor.size(static_cast<std::int64_t>(i));
    if (name == "rows") fits = size == rows;
    if (IsNumber(name)) fits = size == std::stoll(std::string(name));
  }
  if (fits) return "";
  const std::string got =
      tensor.defined() ? c10::str(tensor.sizes(), " ", tensor.scalar_type()) : "an undefined tensor";
  return "expected [" + Listed(declared.dimensions) + "] " + std::string(declared.dtype) + " (" +
         std::to_string(rows) + " rows), got " + got;
}

std::vector<std::int64_t> DimensionsOf(const TensorSpec& tensor, const SeenSizes& seen,
                                       const ModelConfig& config, std::int64_t vocabulary) {
  std::vector<std::int64_t> dimensions;
  for (const std::string_view name : tensor.dimensions) {
    if (const auto size = seen.sizes.find(name); size != seen.sizes.end())
      dimensions.push_back(size->second);
    else if (name == "rows")
      dimensions.push_back(seen.rows);
    else if (name == "vocabulary")
      dimensions.push_back(vocabulary);
    else if (IsNumber(name))
      dimensions.push_back(std::stoll(std::string(name)));
    else
      dimensions.push_back(config.Integer(name));
  }
  return dimensions;
}

}  // namespace medley
