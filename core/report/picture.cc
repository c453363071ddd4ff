#include <medley/report/picture.h>

#include <arpa/inet.h>
#include <png.h>

#include <cstring>

#include <medley/base/error.h>

namespace medley {
namespace {

[[noreturn]] void RefusePng(const std::string& name, const std::string& why) {
  throw InputError(name + " cannot be read as a PNG picture: " + why);
}

// Of a file whose chunks all lie in it: libpng's short way would give one as much memory as it says that it
// is long, and does not look for the end.
std::string_view ExifOfChunks(std::string_view png, const std::string& name) {
  constexpr std::size_t kSignature = 8, kHeader = 8, kSum = 4;  // before and behind a chunk's data
  std::string_view exif;
  for (std::size_t at = kSignature; at + kHeader + kSum <= png.size();) {
    std::uint32_t length = 0;
    std::memcpy(&length, png.data() + at, sizeof(length));
    length = ntohl(length);
    if (length > png.size() - at - kHeader - kSum) break;
    const std::string_view type = png.substr(at + 4, 4);
    if (type == "IEND") return exif;
    if (type == "eXIf") exif = png.substr(at + kHeader, length);
    at += kHeader + length + kSum;
  }
  RefusePng(name, "it ends early");
}

}  // namespace

Picture::Picture(std::int64_t w, std::int64_t h, std::uint8_t fill)
    : width(w), height(h), pixels(static_cast<std::size_t>(w * h * 3), fill) {}

Picture Picture::FromPlanes(const std::uint8_t* planes, std::int64_t width, std::int64_t height) {
  Picture picture(width, height);
  const std::int64_t size = width * height;
  for (std::int64_t i = 0; i < size; ++i) {
    for (std::int64_t c = 0; c < 3; ++c) picture.pixels[3 * i + c] = planes[c * size + i];
  }
  return picture;
}

std::vector<std::uint8_t> Picture::ToPlanes() const {
  std::vector<std::uint8_t> planes(pixels.size());
  const std::int64_t size = width * height;
  for (std::int64_t i = 0; i < size; ++i) {
    for (std::int64_t c = 0; c < 3; ++c) planes[c * size + i] = pixels[3 * i + c];
  }
  return planes;
}

void Picture::Paste(const Picture& picture, std::int64_t left, std::int64_t top) {
  if (left < 0 || top < 0 || left + picture.width > width || top + picture.height > height) {
    throw Error("a picture of " + std::to_string(picture.width) + " x " + std::to_string(picture.height) +
                " does not fit where it was to be pasted");
  }
  for (std::int64_t y = 0; y < picture.height; ++y) {
    std::memcpy(&pixels[3 * ((top + y) * width + left)], &picture.pixels[3 * y * picture.width],
                3 * picture.width);
  }
}

Picture DecodePng(const std::string& bytes, const std::string& name, std::string_view* exif) {
  const std::string_view found = ExifOfChunks(bytes, name);
  if (exif != nullptr) *exif = found;
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_memory(&image, bytes.data(), bytes.size())) RefusePng(name, image.message);
  if (image.width > kLargestPictureSide || image.height > kLargestPictureSide) {
    png_image_free(&image);
    RefusePng(name, "larger than " + std::to_string(kLargestPictureSide) + " pixels a side");
  }
  image.format = PNG_FORMAT_RGB;
  // Else 16 bits that say no gamma are taken for linear light, and come out pale.
  image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  Picture picture(image.width, image.height);
  const png_color black{0, 0, 0};
  if (!png_image_finish_read(&image, &black, picture.pixels.data(), 0, nullptr))
    RefusePng(name, image.message);  // libpng has freed what it held
  return picture;
}

std::string EncodePng(const Picture& picture) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.width);
  image.height = static_cast<png_uint_32>(picture.height);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string bytes(size, '\0');
  if (!png_image_write_to_memory(&image, bytes.data(), &size, 0, picture.pixels.data(), 0, nullptr)) {
    throw Error("cannot encode a picture of " + std::to_string(picture.width) + " x " +
                std::to_string(picture.height) + " as PNG: " + image.message);
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace medley
