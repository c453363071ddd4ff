#include <medley/data/tensor_file.h>

#include <c10/core/ScalarType.h>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/data/last_read.h>
#include <medley/weights/safetensors_file.h>

namespace medley {

at::Tensor MapTensor(const std::filesystem::path& file, at::IntArrayRef shape, at::ScalarType type,
                     std::int64_t offset) {
  NoteFile(file);
  if (const std::string problem = FileProblem(file); !problem.empty()) throw InputError(problem);
  const auto mapped = std::make_shared<const MappedFile>(file);
  auto wanted = static_cast<std::int64_t>(c10::elementSize(type));
  bool fits = offset >= 0;
  for (const std::int64_t size : shape)
    fits = fits && size >= 0 && !__builtin_mul_overflow(wanted, size, &wanted);
  if (!fits || __builtin_add_overflow(wanted, offset, &wanted) || wanted != mapped->size()) {
    throw InputError(DisplayPath(file) + " has " + std::to_string(mapped->size()) + " bytes; expected " +
                     (fits ? std::to_string(wanted) : "another number") + ", for values " + c10::str(shape) +
                     " of " + c10::toString(type) + " from byte " + std::to_string(offset) + " on");
  }
  return MappedTensor(mapped, offset, shape, type);
}

}  // namespace medley
