#include <medley/data/picture_file.h>

#include <cstdint>
#include <string_view>
#include <utility>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/data/exif.h>
#include <medley/data/jpeg.h>

namespace medley {
namespace {

constexpr std::int64_t kLargestPictureFile = std::int64_t{256} << 20;
constexpr std::string_view kPngMark("\x89PNG\r\n\x1a\n"), kJpegMark("\xff\xd8\xff");

}  // namespace

Picture ReadPicture(const std::filesystem::path& file) {
  return DecodePicture(ReadFile(file, kLargestPictureFile), DisplayPath(file));
}

Picture DecodePicture(const std::string& bytes, const std::string& name) {
  if (bytes.starts_with(kJpegMark)) return DecodeJpeg(bytes, name);
  if (!bytes.starts_with(kPngMark))
    throw InputError(name + " is no picture that medley reads: it does not begin as a PNG or a JPEG does");
  std::string_view exif;
  Picture stored = DecodePng(bytes, name, &exif);
  return Upright(std::move(stored), ExifOrientation(exif));
}

}  // namespace medley
