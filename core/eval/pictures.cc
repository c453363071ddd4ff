#include <medley/eval/pictures.h>

#include <ATen/Functions.h>

#include <algorithm>

#include <medley/base/error.h>

namespace medley {

std::vector<Picture> PicturesOf(const at::Tensor& images, std::int64_t at_most) {
  if (images.dim() != 4 || images.size(1) != 3) {
    throw Error("pictures must be [rows, 3, height, width], got " + c10::str(images.sizes()));
  }
  at::Tensor bytes = images.detach().narrow(0, 0, std::min(at_most, images.size(0))).to(at::kCPU);
  if (bytes.is_floating_point()) bytes = bytes.clamp(0, 1).mul(255).round().to(at::kByte);
  bytes = bytes.to(at::kByte).contiguous();
  std::vector<Picture> pictures;
  for (std::int64_t row = 0; row < bytes.size(0); ++row) {
    const at::Tensor picture = bytes.select(0, row);
    pictures.push_back(
        Picture::FromPlanes(picture.const_data_ptr<std::uint8_t>(), images.size(3), images.size(2)));
  }
  return pictures;
}

at::Tensor TensorOf(const Picture& picture) {
  const std::vector<std::uint8_t> planes = picture.ToPlanes();
  at::Tensor bytes = at::empty({1, 3, picture.height, picture.width}, at::kByte);
  std::copy(planes.begin(), planes.end(), bytes.mutable_data_ptr<std::uint8_t>());
  return bytes.to(at::kFloat).div_(255);
}

}  // namespace medley
