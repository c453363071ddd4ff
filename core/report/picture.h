#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace medley {

// 8-bit RGB, rows from the top, three bytes a pixel.
struct Picture {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::vector<std::uint8_t> pixels;

  Picture() = default;
  Picture(std::int64_t width, std::int64_t height, std::uint8_t fill = 0);
  // Makes a picture of planes: bytes [3, height, width], as tensors hold them.
  static Picture FromPlanes(const std::uint8_t* planes, std::int64_t width, std::int64_t height);
  std::vector<std::uint8_t> ToPlanes() const;

  // Copies a picture that fits to (left, top).
  void Paste(const Picture& picture, std::int64_t left, std::int64_t top);
};

inline constexpr std::int64_t kLargestPictureSide = 8192;  // pixels, of what is read

// Any PNG as 8-bit RGB: palette and grey are expanded, what is transparent lies over black. `bytes` are those
// of a file, which is called `name`. InputError where they are none, end early, or are a picture of a larger
// side. `exif`: gets where EXIF data lie in `bytes`, "": nowhere; null: nobody asks.
Picture DecodePng(const std::string& bytes, const std::string& name, std::string_view* exif = nullptr);
// The bytes of a PNG file. An Error for a picture without pixels.
std::string EncodePng(const Picture& picture);

inline constexpr std::uint8_t kSheetGround = 96;  // of each colour

}  // namespace medley
