#include <medley/data/picture_file.h>

#include <arpa/inet.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
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

// Of a PNG whose pixels could be read: libpng's short way to these looks neither at it nor for the end.
std::string_view PngExif(std::string_view png, const std::string& name) {
  constexpr std::size_t kHeader = 8, kSum = 4;  // of a chunk: length and type, data, check sum
  std::string_view exif;
  for (std::size_t at = kPngMark.size(); png.size() - at >= kHeader + kSum;) {
    std::uint32_t length = 0;
    std::memcpy(&length, png.data() + at, sizeof(length));
    length = ntohl(length);
    if (length > png.size() - at - kHeader - kSum) break;
    const std::string_view type = png.substr(at + 4, 4);
    if (type == "IEND") return exif;
    if (type == "eXIf") exif = png.substr(at + kHeader, length);
    at += kHeader + length + kSum;
  }
  throw InputError(name + " cannot be read as a PNG picture: it ends early");
}

}  // namespace

Picture ReadPicture(const std::filesystem::path& file) {
  return DecodePicture(ReadFile(file, kLargestPictureFile), DisplayPath(file));
}

Picture DecodePicture(const std::string& bytes, const std::string& name) {
  if (bytes.starts_with(kJpegMark)) return DecodeJpeg(bytes, name);
  if (!bytes.starts_with(kPngMark))
    throw InputError(name + " is no picture that medley reads: it does not begin as a PNG or a JPEG does");
  Picture stored = DecodePng(bytes, name);
  return Upright(std::move(stored), ExifOrientation(PngExif(bytes, name)));
}

}  // namespace medley
