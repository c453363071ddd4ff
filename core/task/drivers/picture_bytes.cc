#include <medley/task/drivers/picture_bytes.h>

#include <ATen/ops/full.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <medley/data/picture_file.h>
#include <medley/data/resize_picture.h>

namespace medley {
namespace {

struct PixelRange {
  std::int64_t begin, end;
};

// In whole numbers: the floats of at::adaptive_avg_pool2d would take four times the picture.
Colour MeanColour(const Picture& picture, PixelRange rows, PixelRange columns) {
  std::array<std::int64_t, 3> sums{};
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const std::uint8_t* value = &picture.pixels[3 * (row * picture.width + columns.begin)];
    for (std::int64_t column = columns.begin; column < columns.end; ++column) {
      for (std::int64_t& sum : sums) sum += *value++;
    }
  }
  const std::int64_t count = (rows.end - rows.begin) * (columns.end - columns.begin);
  const auto mean = [&](std::int64_t sum) { return static_cast<std::uint8_t>((sum + count / 2) / count); };
  return {mean(sums[0]), mean(sums[1]), mean(sums[2])};
}

}  // namespace

void PictureBytes::Set(std::int64_t row, std::int64_t column, Colour colour) const {
  if (row < 0 || row >= size_ || column < 0 || column >= size_) return;
  std::uint8_t* pixel = bytes_ + row * size_ + column;
  const std::int64_t plane = size_ * size_;
  pixel[0] = colour.red, pixel[plane] = colour.green, pixel[2 * plane] = colour.blue;
}

Colour PictureBytes::At(std::int64_t row, std::int64_t column) const {
  const std::uint8_t* pixel = bytes_ + row * size_ + column;
  const std::int64_t plane = size_ * size_;
  return {pixel[0], pixel[plane], pixel[2 * plane]};
}

void PictureBytes::Fill(Colour colour) const {
  const std::int64_t plane = size_ * size_;
  std::fill_n(bytes_, plane, colour.red);
  std::fill_n(bytes_ + plane, plane, colour.green);
  std::fill_n(bytes_ + 2 * plane, plane, colour.blue);
}

void PictureBytes::Disc(double row, double column, double radius, Colour colour) const {
  const auto first = [](double at) { return static_cast<std::int64_t>(std::floor(at)); };
  for (std::int64_t y = first(row - radius); y <= first(row + radius); ++y) {
    for (std::int64_t x = first(column - radius); x <= first(column + radius); ++x) {
      const double down = static_cast<double>(y) + 0.5 - row, right = static_cast<double>(x) + 0.5 - column;
      if (down * down + right * right <= radius * radius) Set(y, x, colour);
    }
  }
}

void PictureBytes::Box(std::int64_t row, std::int64_t column, std::int64_t height, std::int64_t width,
                       Colour colour) const {
  for (std::int64_t y = row; y < row + height; ++y) {
    for (std::int64_t x = column; x < column + width; ++x) Set(y, x, colour);
  }
}

void PictureBytes::Load(const std::filesystem::path& file) const {
  const Picture picture = ReadPicture(file);
  if (rule_.resizes) {
    std::ranges::copy(ResizePicture(picture, size_, rule_).ToPlanes(), bytes_);
    return;
  }
  const auto part = [&](std::int64_t pixel, std::int64_t length) {
    return PixelRange{pixel * length / size_, ((pixel + 1) * length + size_ - 1) / size_};
  };
  for (std::int64_t row = 0; row < size_; ++row) {
    for (std::int64_t column = 0; column < size_; ++column)
      Set(row, column, MeanColour(picture, part(row, picture.height), part(column, picture.width)));
  }
}

PictureColumn::PictureColumn(std::int64_t rows, std::int64_t size, const PictureRule& rule)
    : pictures_(at::full({rows, 3, size, size}, 255, at::kByte)), rule_(rule) {}

PictureBytes PictureColumn::operator[](std::int64_t row) const {
  const std::int64_t size = pictures_.size(2);
  return {pictures_.mutable_data_ptr<std::uint8_t>() + row * 3 * size * size, size, rule_};
}

}  // namespace medley
