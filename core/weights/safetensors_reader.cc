#include <ATen/Functions.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_reader.h>
#include <medley/base/printable.h>
#include <medley/weights/safetensors.h>
#include <medley/weights/safetensors_file.h>

namespace medley {
namespace {

using Json = nlohmann::json;
using Entry = SafetensorsFile::Entry;

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

[[noreturn]] void Refuse(const std::filesystem::path& path, const std::string& what) {
  throw InputError(DisplayPath(path) + ": not a good safetensors file: it " + what);
}

class HeaderReader {
 public:
  HeaderReader(const std::filesystem::path& path, const InputFile& file)
      : path_(path), file_(file), size_(file.size()) {}

  // Where the header ends.
  std::int64_t end() const { return data_; }

  std::map<std::string, Entry> Read() {
    ReadHeader();
    std::map<std::string, Entry> entries;
    for (const auto& [name, value] : header_.items()) {
      if (name != "__metadata__") entries.emplace(name, ReadEntry(name, value));
    }
    CheckLayout(entries);
    return entries;
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const { Refuse(path_, what); }

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
      if (!value.is_string()) Fail("has a __metadata__ whose '" + Printable(key) + "' is no string");
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
      Fail("has a tensor '" + Printable(name) +
           "' whose shape or data_offsets hold something else than whole numbers");
    }
    return value.get<std::int64_t>();
  }

  Entry ReadEntry(const std::string& name, const Json& value) const {
    const auto list = [&](const char* key, std::size_t least, std::size_t most) -> const Json& {
      const bool good = value[key].is_array() && value[key].size() >= least && value[key].size() <= most;
      if (!good) Fail("has a tensor '" + Printable(name) + "' with a bad " + key);
      return value[key];
    };
    if (!value.is_object() || value.size() != 3 || !value.contains("dtype") || !value.contains("shape") ||
        !value.contains("data_offsets") || !value["dtype"].is_string()) {
      Fail("has a tensor '" + Printable(name) + "' without exactly dtype, shape and data_offsets");
    }
    Entry entry;
    const auto type_name = value["dtype"].get<std::string>();
    const auto type = SafetensorsType(type_name);
    if (!type)
      Fail("has a tensor '" + Printable(name) + "' of the type '" + Printable(type_name) +
           "', which medley does not know");
    entry.type = *type;
    for (const Json& dim : list("shape", 0, kMostDimensions)) entry.shape.push_back(Integer(name, dim));
    const Json& offsets = list("data_offsets", 2, 2);
    entry.begin = Integer(name, offsets[0]);
    entry.end = Integer(name, offsets[1]);
    CheckSize(name, entry);
    return entry;
  }

  void CheckSize(const std::string& name, const Entry& entry) const {
    std::int64_t bytes = static_cast<std::int64_t>(c10::elementSize(entry.type));
    std::int64_t strides = bytes;  // libtorch multiplies strides also where a dimension is 0
    for (const std::int64_t dim : entry.shape) {
      if (__builtin_mul_overflow(bytes, dim, &bytes) ||
          __builtin_mul_overflow(strides, std::max<std::int64_t>(dim, 1), &strides)) {
        Fail("has a tensor '" + Printable(name) + "' whose size overflows");
      }
    }
    if (entry.begin > entry.end || entry.end > size_ - data_) {
      Fail("has a tensor '" + Printable(name) + "' at bytes " + std::to_string(entry.begin) + " to " +
           std::to_string(entry.end) + " of " + std::to_string(size_ - data_));
    }
    if (entry.end - entry.begin != bytes) {
      Fail("has a tensor '" + Printable(name) + "' of " + std::to_string(entry.end - entry.begin) +
           " bytes, its shape and dtype need " + std::to_string(bytes));
    }
  }

  void CheckLayout(const std::map<std::string, Entry>& entries) const {
    std::vector<const std::pair<const std::string, Entry>*> places;
    for (const auto& entry : entries) places.push_back(&entry);
    std::ranges::sort(places, [](const auto* a, const auto* b) {
      return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
    });
    std::int64_t position = 0, empty_at = -1;
    for (const auto* place : places) {
      const auto& [name, entry] = *place;
      if (entry.begin != position) {
        Fail(std::string(entry.begin < position ? "has overlapping tensors" : "has a hole") + " before '" +
             name + "'");
      }
      // Nothing says which of them comes first, and any number of them takes no byte of the file.
      if (entry.begin == entry.end && std::exchange(empty_at, entry.begin) == entry.begin)
        Fail("has two tensors without values at one place, one of them '" + Printable(name) + "'");
      position = entry.end;
    }
    if (position != size_ - data_) {
      Fail("has " + std::to_string(size_ - data_ - position) + " bytes behind its last tensor");
    }
  }

  const std::filesystem::path& path_;
  const InputFile& file_;
  std::int64_t size_ = 0, data_ = 0;
  Json header_;
};

InputFile Open(const std::filesystem::path& path) {
  if (const std::string problem = FileProblem(path); !problem.empty()) {
    throw InputError(DisplayPath(path) + ": " + problem);
  }
  return InputFile(path);
}

}  // namespace

at::Tensor MappedTensor(std::shared_ptr<const MappedFile> file, std::int64_t offset, at::IntArrayRef shape,
                        at::ScalarType type) {
  std::byte* const values = file->data() == nullptr ? nullptr : file->data() + offset;
  const bool aligned = offset % static_cast<std::int64_t>(c10::elementSize(type)) == 0;
  if (values != nullptr && aligned)
    return at::from_blob(
        values, shape, [file = std::move(file)](void*) {}, at::dtype(type));
  at::Tensor copy = at::empty(shape, at::dtype(type));
  if (copy.nbytes() > 0) std::memcpy(copy.mutable_data_ptr(), values, copy.nbytes());
  return copy;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& file) : path_(file), file_(Open(file)) {
  HeaderReader reader(path_, file_);
  entries_ = reader.Read();
  data_ = reader.end();
}

void SafetensorsFile::Fail(const std::string& what) const { Refuse(path_, what); }

at::Tensor SafetensorsFile::Read(const std::string& name) const {
  const Entry& entry = entries_.at(name);
  at::Tensor tensor = at::empty(entry.shape, at::dtype(entry.type));
  const auto bytes = static_cast<std::size_t>(entry.end - entry.begin);
  if (bytes > 0 && file_.Read(data_ + entry.begin, tensor.mutable_data_ptr(), bytes) < bytes) {
    Fail("ends before the values of '" + Printable(name) + "'; it changed while it was read");
  }
  CheckBool(name, tensor);
  return tensor;
}

at::Tensor SafetensorsFile::Map(const std::string& name) const {
  const Entry& entry = entries_.at(name);
  if (mapped_ == nullptr) mapped_ = std::make_shared<const MappedFile>(path_);
  if (mapped_->size() != file_.size()) Fail("changed while it was read");
  const at::Tensor tensor = MappedTensor(mapped_, data_ + entry.begin, entry.shape, entry.type);
  CheckBool(name, tensor);
  return tensor;
}

// One pass, and no memory, where all are.
at::Tensor SafetensorsFile::MapFinite(const std::string& name) const {
  at::Tensor values = Map(name);
  if (values.numel() == 0 || !values.is_floating_point()) return values;
  const auto [least, most] = at::aminmax(values);  // NaN where there is one
  if (std::isfinite(least.item<double>()) && std::isfinite(most.item<double>())) return values;
  const at::Tensor places = at::isfinite(values).logical_not().nonzero();
  std::string first;
  for (std::int64_t i = 0; i < places.size(1); ++i)
    first += (i > 0 ? ", " : "") + std::to_string(places[0][i].item<std::int64_t>());
  throw InputError(DisplayPath(path_) + ": the tensor '" + name + "' has " + std::to_string(places.size(0)) +
                   " of " + std::to_string(values.numel()) +
                   " values that are NaN or infinity, the first at [" + first +
                   "]. Nothing can be trained from it: take weights that are whole");
}

// Any other byte in a bool is undefined behaviour for whoever reads it.
void SafetensorsFile::CheckBool(const std::string& name, const at::Tensor& tensor) const {
  if (tensor.scalar_type() != at::kBool) return;
  const auto* bytes = static_cast<const std::uint8_t*>(tensor.const_data_ptr());
  if (std::any_of(bytes, bytes + tensor.numel(), [](std::uint8_t byte) { return byte > 1; })) {
    Fail("has a tensor '" + Printable(name) + "' of BOOL with values other than 0 and 1");
  }
}

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
  const SafetensorsFile opened(file);
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [name, entry] : opened.entries()) tensors.emplace(name, opened.Read(name));
  return tensors;
}

std::map<std::string, at::Tensor> MapSafetensors(const std::filesystem::path& file) {
  const SafetensorsFile opened(file);
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [name, entry] : opened.entries()) tensors.emplace(name, opened.Map(name));
  return tensors;
}

std::string TypeAndShape(at::ScalarType type, c10::IntArrayRef shape) {
  std::string sizes;
  for (const std::int64_t size : shape) sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
  return SafetensorsTypeName(type) + " [" + sizes + "]";
}

bool IsWeightType(at::ScalarType type) {
  return type == at::kFloat || type == at::kHalf || type == at::kBFloat16;
}

}  // namespace medley
