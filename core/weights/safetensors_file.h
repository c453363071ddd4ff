#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
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

 private:
  [[noreturn]] void Fail(const std::string& what) const;
  void CheckBool(const std::string& name, const at::Tensor& tensor) const;

  std::filesystem::path path_;
  InputFile file_;
  std::int64_t data_ = 0;  // where the header ends
  std::map<std::string, Entry> entries_;
  mutable std::shared_ptr<const MappedFile> mapped_;  // from the first Map on
};

}  // namespace medley
