#include <medley/weights/mapped_tensor.h>

#include <ATen/Functions.h>

#include <cstring>
#include <utility>

namespace medley {

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

}  // namespace medley
