#include <ATen/Functions.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/input_file.h>
#include <medley/base/json_reader.h>
#include <medley/base/mapped_file.h>
#include <medley/model/mapped_tensor.h>
#include <medley/model/safetensors.h>
#include <medley/model/safetensors_types.h>

namespace medley {
namespace {

using Json = nlohmann::json;

// The reference implementation allows 100 MB, which is gigabytes once read. This holds 100,000 tensors.
constexpr std::int64_t kLargestHeader = 16 << 20;
constexpr std::size_t kMostDimensions = 16;

constexpr std::array<std::pair<std::string_view, at::ScalarType>, 10> kTypes = {{{"F64", at::kDouble},
                                                                                 {"F32", at::kFloat},
                                                                                 {"F16", at::kHalf},
                                                                                 {"BF16", at::kBFloat16},
                                                                                 {"I64", at::kLong},
                                                                                 {"I32", at::kInt},
                                                                                 {"I16", at::kShort},
                                                                                 {"I8", at::kChar},
                                                                                 {"U8", at::kByte},
                                                                                 {"BOOL", at::kBool}}};

struct Entry {
  std::string name;
  at::ScalarType type = at::kFloat;
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0, end = 0;
};

class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : path_(path), file_(Open(path)), size_(file_.size()) {
    ReadHeader();
  }

  std::map<std::string, at::Tensor> Read() {
    return Tensors([this](const Entry& entry) {
      at::Tensor tensor = at::empty(entry.shape, at::dtype(entry.type));
      const auto bytes = static_cast<std::size_t>(entry.end - entry.begin);
      if (bytes > 0 && file_.Read(data_ + entry.begin, tensor.mutable_data_ptr(), bytes) < bytes) {
        Fail("ends before the values of '" + entry.name + "'; it changed while it was read");
      }
      return tensor;
    });
  }

  std::map<std::string, at::Tensor> Map() {
    const auto mapped = std::make_shared<const MappedFile>(path_);
    if (mapped->size() != size_) Fail("changed while it was read");
    return Tensors([&](const Entry& entry) {
      return MappedTensor(mapped, data_ + entry.begin, entry.shape, entry.type);
    });
  }

 private:
  template <typename Make>
  std::map<std::string, at::Tensor> Tensors(const Make& make) {
    std::vector<Entry> entries;
    for (const auto& [name, value] : header_.items()) {
      if (name != "__metadata__") entries.push_back(ReadEntry(name, value));
    }
    CheckLayout(entries);
    std::map<std::string, at::Tensor> tensors;
    for (const Entry& entry : entries) {
      const at::Tensor& tensor = tensors.emplace(entry.name, make(entry)).first->second;
      if (entry.type == at::kBool) CheckBool(entry, tensor);
    }
    return tensors;
  }

  static InputFile Open(const std::filesystem::path& path) {
    if (const std::string problem = FileProblem(path); !problem.empty()) {
      throw InputError(DisplayPath(path) + ": " + problem);
    }
    return InputFile(path);
  }

  [[noreturn]] void Fail(const std::string& what) const {
    throw InputError(DisplayPath(path_) + ": not a good safetensors file: it " + what);
  }

  void ReadHeader() {
    std::uint64_t length = 0;
    if (file_.Read(0, &length, sizeof(length)) < sizeof(length)) Fail("is shorter than 8 bytes");
    if (length > static_cast<std::uint64_t>(std::min(kLargestHeader, size_ - 8))) {
      Fail("claims a header of " + std::to_string(length) + " bytes; it has " + std::to_string(size_ - 8) +
           " behind the length, and " + std::to_string(kLargestHeader) + " is the most");
    }
    std::string text(length, '\0');
    if (file_.Read(8, text.data(), length) < length) Fail("ends in its header");
    if (text.empty() || text.front() != '{') Fail("has a header that does not start with '{'");
    data_ = static_cast<std::int64_t>(length) + 8;
    header_ = Parse(text);
    CheckMetadata();
  }

  // Nobody here reads it; a file that breaks the format is refused all the same.
  void CheckMetadata() const {
    const auto found = header_.find("__metadata__");
    if (found == header_.end()) return;
    if (!found->is_object()) Fail("has a __metadata__ that is no object");
    for (const auto& [key, value] : found->items()) {
      if (!value.is_string()) Fail("has a __metadata__ whose '" + key + "' is no string");
    }
  }

  Json Parse(const std::string& text) const {
    try {
      return ReadJson<Json>(text, "header");
    } catch (const InputError& error) {
      Fail(std::string("has a bad header: ") + error.what());
    }
  }

  std::int64_t Integer(const std::string& name, const Json& value) const {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > INT64_MAX) {
      Fail("has a tensor '" + name + "' whose shape or data_offsets hold something else than whole numbers");
    }
    return value.get<std::int64_t>();
  }

  Entry ReadEntry(const std::string& name, const Json& value) const {
    const auto list = [&](const char* key, std::size_t least, std::size_t most) -> const Json& {
      const bool good = value[key].is_array() && value[key].size() >= least && value[key].size() <= most;
      if (!good) Fail("has a tensor '" + name + "' with a bad " + key);
      return value[key];
    };
    if (!value.is_object() || value.size() != 3 || !value.contains("dtype") || !value.contains("shape") ||
        !value.contains("data_offsets") || !value["dtype"].is_string()) {
      Fail("has a tensor '" + name + "' without exactly dtype, shape and data_offsets");
    }
    Entry entry;
    entry.name = name;
    const auto type_name = value["dtype"].get<std::string>();
    const auto type = SafetensorsType(type_name);
    if (!type)
      Fail("has a tensor '" + name + "' of the type '" + type_name + "', which medley does not know");
    entry.type = *type;
    for (const Json& dim : list("shape", 0, kMostDimensions)) entry.shape.push_back(Integer(name, dim));
    const Json& offsets = list("data_offsets", 2, 2);
    entry.begin = Integer(name, offsets[0]);
    entry.end = Integer(name, offsets[1]);
    CheckSize(entry);
    return entry;
  }

  void CheckSize(const Entry& entry) const {
    std::int64_t bytes = static_cast<std::int64_t>(c10::elementSize(entry.type));
    std::int64_t strides = bytes;  // libtorch multiplies strides also where a dimension is 0
    for (const std::int64_t dim : entry.shape) {
      if (__builtin_mul_overflow(bytes, dim, &bytes) ||
          __builtin_mul_overflow(strides, std::max<std::int64_t>(dim, 1), &strides)) {
        Fail("has a tensor '" + entry.name + "' whose size overflows");
      }
    }
    if (entry.begin > entry.end || entry.end > size_ - data_) {
      Fail("has a tensor '" + entry.name + "' at bytes " + std::to_string(entry.begin) + " to " +
           std::to_string(entry.end) + " of " + std::to_string(size_ - data_));
    }
    if (entry.end - entry.begin != bytes) {
      Fail("has a tensor '" + entry.name + "' of " + std::to_string(entry.end - entry.begin) +
           " bytes, its shape and dtype need " + std::to_string(bytes));
    }
  }

  void CheckLayout(std::vector<Entry>& entries) const {
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    std::int64_t position = 0, empty_at = -1;
    for (const Entry& entry : entries) {
      if (entry.begin != position) {
        Fail(std::string(entry.begin < position ? "has overlapping tensors" : "has a hole") + " before '" +
             entry.name + "'");
      }
      // Nothing says which of them comes first, and any number of them takes no byte of the file.
      if (entry.begin == entry.end && std::exchange(empty_at, entry.begin) == entry.begin)
        Fail("has two tensors without values at one place, one of them '" + entry.name + "'");
      position = entry.end;
    }
    if (position != size_ - data_) {
      Fail("has " + std::to_string(size_ - data_ - position) + " bytes behind its last tensor");
    }
  }

  // Any other byte in a bool is undefined behaviour for whoever reads it.
  void CheckBool(const Entry& entry, const at::Tensor& tensor) const {
    const auto* bytes = static_cast<const std::uint8_t*>(tensor.const_data_ptr());
    if (std::any_of(bytes, bytes + (entry.end - entry.begin), [](std::uint8_t byte) { return byte > 1; })) {
      Fail("has a tensor '" + entry.name + "' of BOOL with values other than 0 and 1");
    }
  }

  std::filesystem::path path_;
  InputFile file_;
  std::int64_t size_ = 0, data_ = 0;
  Json header_;
};

}  // namespace

std::string SafetensorsTypeName(at::ScalarType type) {
  for (const auto& [name, known] : kTypes) {
    if (known == type) return std::string(name);
  }
  throw Error(std::string("safetensors files cannot hold the type ") + c10::toString(type));
}

std::optional<at::ScalarType> SafetensorsType(std::string_view name) {
  for (const auto& [known, type] : kTypes) {
    if (known == name) return type;
  }
  return std::nullopt;
}

std::map<std::string, at::Tensor> ReadSafetensors(const std::filesystem::path& file) {
  return Reader(file).Read();
}

std::map<std::string, at::Tensor> MapSafetensors(const std::filesystem::path& file) {
  return Reader(file).Map();
}

}  // namespace medley
