// The reader of people's pictures.
#include <medley/data/picture_file.h>

#include "tests/fuzz/framing.h"
#include "tests/fuzz/readers.h"
#include "tests/fuzz/written.h"

namespace medley::fuzz {
namespace {

constexpr std::int64_t kPicturePixels = kLargestPictureSide * kLargestPictureSide;
// The picture, and what libpng and a file of that size take. A progressive JPEG lies there in coefficients of
// two bytes too, and one that is turned a second time.
constexpr std::int64_t kPngBytes = kPicturePixels * 3 + (std::int64_t{32} << 20);
constexpr std::int64_t kJpegBytes = kPngBytes + kPicturePixels * 6;

void ReadAPicture(const std::string& bytes) { ReadPicture(Written("picture", bytes)); }
void ReadPngChunks(const std::string& bytes) { ReadAPicture(WithChunkSums(bytes)); }

}  // namespace

std::vector<Reader> PictureReaders() {
  return {{"png", false, ReadAPicture, 2 * kPngBytes, "", "picture"},
          {"png_chunks", false, ReadPngChunks, 2 * kPngBytes, "png", "picture"},
          {"jpeg", false, ReadAPicture, kJpegBytes, "", "picture"}};
}

}  // namespace medley::fuzz
