#include <medley/weights/safetensors.h>

#include <ATen/Functions.h>

#include <algorithm>
#include <array>
#include <bit>
#include <nlohmann/json.hpp>
#include <utility>

#include <medley/base/error.h>
#include <medley/weights/safetensors_file.h>

namespace medley {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

std::vector<const Parameter*> Sorted(const std::vector<Parameter>& tensors) {
  std::vector<const Parameter*> sorted;
  for (const Parameter& parameter : tensors) sorted.push_back(&parameter);
  std::ranges::sort(sorted, [](const auto* a, const auto* b) { return a->name < b->name; });
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i - 1]->name == sorted[i]->name)
      throw Error("two tensors are called '" + sorted[i]->name + "'");
  }
  return sorted;
}

at::ScalarType TypeInFile(const at::Tensor& tensor, std::optional<at::ScalarType> as) {
  return as && tensor.is_floating_point() ? *as : tensor.scalar_type();
}

// With its length in front, filled up with spaces so that the values start at a multiple of 8.
std::string Header(const std::vector<const Parameter*>& tensors,
                   const std::map<std::string, std::string>& metadata, std::optional<at::ScalarType> as) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::int64_t offset = 0, empty_at = -1;
  for (const Parameter* parameter : tensors) {
    const std::int64_t end = offset + SafetensorsBytes(parameter->tensor, as);
    if (end == offset && std::exchange(empty_at, offset) == offset)  // as the reader refuses
      throw Error("'" + parameter->name +
                  "' and the tensor before it have no values: their places would be one");
    header[parameter->name] = {{"dtype", SafetensorsTypeName(TypeInFile(parameter->tensor, as))},
                               {"shape", parameter->tensor.sizes().vec()},
                               {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t size = text.size();
  std::array<char, 8> prefix{};
  std::copy_n(reinterpret_cast<const char*>(&size), prefix.size(), prefix.begin());
  return std::string(prefix.begin(), prefix.end()) + text;
}

}  // namespace

void WriteSafetensors(const std::vector<Parameter>& tensors,
                      const std::map<std::string, std::string>& metadata,
                      const std::function<void(const void*, std::size_t)>& sink,
                      std::optional<at::ScalarType> as) {
  const std::vector<const Parameter*> sorted = Sorted(tensors);
  const std::string header = Header(sorted, metadata, as);
  sink(header.data(), header.size());
  for (const Parameter* parameter : sorted) {
    const at::Tensor& tensor = parameter->tensor;
    const at::Tensor values = tensor.detach().to(at::kCPU, TypeInFile(tensor, as)).contiguous();
    if (values.nbytes() > 0) sink(values.const_data_ptr(), values.nbytes());
  }
}

std::int64_t SafetensorsSize(const std::vector<Parameter>& tensors,
                             const std::map<std::string, std::string>& metadata,
                             std::optional<at::ScalarType> as) {
  auto bytes = static_cast<std::int64_t>(Header(Sorted(tensors), metadata, as).size());
  for (const Parameter& parameter : tensors) bytes += SafetensorsBytes(parameter.tensor, as);
  return bytes;
}

std::int64_t SafetensorsBytes(const at::Tensor& tensor, std::optional<at::ScalarType> as) {
  return tensor.numel() * static_cast<std::int64_t>(c10::elementSize(TypeInFile(tensor, as)));
}

}  // namespace medley
