#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <span>

#include <medley/model/picture_rule.h>

namespace medley {

struct Colour {
  std::uint8_t red = 0, green = 0, blue = 0;
};
inline constexpr Colour kWhite{255, 255, 255}, kBlack{0, 0, 0};

// A picture to draw on, that lies in a batch: [3, size, size] bytes, white at first. Points are (row, column)
// in pixels; what lies outside is not drawn.
class PictureBytes {
 public:
  // `rule`: how pictures of files become one of this size.
  PictureBytes(std::uint8_t* bytes, std::int64_t size, const PictureRule& rule = {})
      : bytes_(bytes), size_(size), rule_(rule) {}

  std::int64_t size() const { return size_; }  // pixels a side
  std::span<std::uint8_t> bytes() const { return {bytes_, static_cast<std::size_t>(3 * size_ * size_)}; }

  void Set(std::int64_t row, std::int64_t column, Colour colour) const;
  Colour At(std::int64_t row, std::int64_t column) const;  // must lie inside
  void Fill(Colour colour) const;
  // The pixels whose middle lies in it.
  void Disc(double row, double column, double radius, Colour colour) const;
  void Box(std::int64_t row, std::int64_t column, std::int64_t height, std::int64_t width,
           Colour colour) const;
  // The picture of a file, PNG or JPEG, as data/picture_file.h reads it. Of another size it becomes this one,
  // by the rule, or where that does not resize, whatever its sides, each pixel the mean of those that fall
  // into it. InputError with the file's name.
  void Load(const std::filesystem::path& file) const;

 private:
  std::uint8_t* bytes_;
  std::int64_t size_;
  PictureRule rule_;
};

// A column of pictures, [rows, 3, size, size] bytes, all of them white.
class PictureColumn {
 public:
  PictureColumn(std::int64_t rows, std::int64_t size, const PictureRule& rule = {});
  PictureBytes operator[](std::int64_t row) const;
  const at::Tensor& tensor() const { return pictures_; }

 private:
  at::Tensor pictures_;
  PictureRule rule_;
};

}  // namespace medley
