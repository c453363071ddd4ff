#include <medley/data/exif.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace medley {

int ExifOrientation(std::string_view tiff) {
  const bool is_big_endian = tiff.starts_with("MM");
  if (!is_big_endian && !tiff.starts_with("II")) return 1;
  // 0 where that is not inside.
  const auto number = [&](std::size_t at, std::size_t size) {
    std::size_t value = 0;
    if (at > tiff.size() || size > tiff.size() - at) return value;
    for (std::size_t i = 0; i < size; ++i)
      value = value << 8 | static_cast<unsigned char>(tiff[at + (is_big_endian ? i : size - 1 - i)]);
    return value;
  };
  constexpr std::size_t kOrientation = 0x0112, kShort = 3, kLong = 4, kEntryBytes = 12;
  const std::size_t directory = number(4, 4), entries = number(directory, 2);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + i * kEntryBytes;
    if (number(entry, 2) != kOrientation) continue;
    const std::size_t type = number(entry + 2, 2);
    const std::size_t value = number(entry + 8, type == kShort ? 2 : type == kLong ? 4 : 0);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

Picture Upright(Picture stored, int orientation) {
  if (orientation == 1) return stored;
  const bool lies = orientation >= 5;  // its rows are columns
  const bool from_below = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  Picture upright(lies ? stored.height : stored.width, lies ? stored.width : stored.height);
  auto to = upright.pixels.begin();
  for (std::int64_t y = 0; y < upright.height; ++y) {
    for (std::int64_t x = 0; x < upright.width; ++x) {
      const auto [down, across] = lies ? std::pair(x, y) : std::pair(y, x);
      const std::int64_t row = from_below ? stored.height - 1 - down : down;
      const std::int64_t column = from_right ? stored.width - 1 - across : across;
      to = std::copy_n(stored.pixels.begin() + 3 * (row * stored.width + column), 3, to);
    }
  }
  return upright;
}

}  // namespace medley
