#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>
#include <c10/util/ArrayRef.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <medley/base/input_file.h>
#include <medley/base/mapped_file.h>

namespace medley {

// A safetensors file of which only the header was read. Made for files from strangers: everything that the
// header claims is checked against the file's size before memory is asked for. Throws InputError that names
// the file and the tensor.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& file);

  struct Entry {
    at::ScalarType type = at::kFloat;
    std::vector<std::int64_t> shape;
    std::int64_t begin = 0, end = 0;  // bytes behind the header
  };
  const std::map<std::string, Entry>& entries() const { return entries_; }
  const std::filesystem::path& path() const { return path_; }

  // The values of one of them, on the CPU.
  at::Tensor Read(const std::string& name) const;
  // The same, mapped: see MapSafetensors.
  at::Tensor Map(const std::string& name) const;
  // The same of what a model is to begin with: an InputError says which of its values is NaN or infinity.
  at::Tensor MapFinite(const std::string& name) const;

 private:
  [[noreturn]] void Fail(const std::string& what) const;
  void CheckBool(const std::string& name, const at::Tensor& tensor) const;

  std::filesystem::path path_;
  InputFile file_;
  std::int64_t data_ = 0;  // where the header ends
  std::map<std::string, Entry> entries_;
  mutable std::shared_ptr<const MappedFile> mapped_;  // from the first Map on
};

// The name of an element type in a safetensors header; an Error for a type that the format lacks.
std::string SafetensorsTypeName(at::ScalarType type);
// nullopt for a name that we do not know.
std::optional<at::ScalarType> SafetensorsType(std::string_view name);
// "BF16 [64, 32]".
std::string TypeAndShape(at::ScalarType type, c10::IntArrayRef shape);
// Whether published weights and adapters may be of it: fp32, fp16, bf16.
bool IsWeightType(at::ScalarType type);

// The values in a mapped file from byte `offset` on; the file stays mapped as long as the tensor lives.
// Copied where they do not lie as the type needs it.
at::Tensor MappedTensor(std::shared_ptr<const MappedFile> file, std::int64_t offset, at::IntArrayRef shape,
                        at::ScalarType type);

}  // namespace medley
