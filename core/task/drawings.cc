#include <medley/task/drawings.h>

#include <ATen/ops/full.h>
#include <ATen/ops/isfinite.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string>

#include <medley/base/error.h>

namespace medley {
namespace {

struct Range {
  double low = 0, high = 1;
  // 0 at the lower end, 1 at the upper.
  double Place(double value) const { return std::clamp((value - low) / (high - low), 0.0, 1.0); }
};

Range RangeOf(const at::Tensor& values) {
  const at::Tensor finite = values.masked_select(at::isfinite(values));
  if (finite.numel() == 0) return {};
  const double low = finite.min().item<double>(), high = finite.max().item<double>();
  return low < high ? Range{low, high} : Range{low - 0.5, low + 0.5};
}

at::Tensor OnHost(const at::Tensor& values) {
  return values.detach().to(at::kCPU).to(at::kDouble).contiguous();
}

// Of neighbours far apart: golden-angle steps round the circle of hues, dark enough for white.
std::array<std::uint8_t, 3> ColourOf(std::int64_t line) {
  const double hue = std::fmod(0.61803398875 * static_cast<double>(line), 1.0);
  std::array<std::uint8_t, 3> colour{};
  for (std::size_t channel = 0; channel < 3; ++channel) {
    const double from = std::fmod(hue + static_cast<double>(channel) / 3, 1.0);
    colour[channel] = static_cast<std::uint8_t>(200 * std::clamp(std::abs(from * 6 - 3) - 1, 0.0, 1.0));
  }
  return colour;
}

// A picture of one row.
class Canvas {
 public:
  Canvas(std::uint8_t* pixels, std::int64_t height, std::int64_t width)
      : pixels_(pixels), height_(height), width_(width) {}

  struct Point {
    std::int64_t x, y;
  };
  void Line(Point from, Point to, const std::array<std::uint8_t, 3>& colour) {
    const std::int64_t steps = std::max({std::abs(to.x - from.x), std::abs(to.y - from.y), std::int64_t{1}});
    for (std::int64_t step = 0; step <= steps; ++step) {
      const std::int64_t x = from.x + (to.x - from.x) * step / steps,
                         y = from.y + (to.y - from.y) * step / steps;
      for (std::size_t channel = 0; channel < 3; ++channel)
        pixels_[(static_cast<std::int64_t>(channel) * height_ + y) * width_ + x] = colour[channel];
    }
  }

 private:
  std::uint8_t* pixels_;
  std::int64_t height_, width_;
};

void DrawRow(const double* values, std::int64_t frames, std::int64_t lines, const Range& range,
             std::int64_t across, const LineDrawing& drawing, std::uint8_t* pixels) {
  Canvas canvas(pixels, drawing.height, drawing.width);
  const auto place = [&](std::int64_t frame, double value) {
    return Canvas::Point{frame * (drawing.width - 1) / std::max<std::int64_t>(across - 1, 1),
                         std::lround((1 - range.Place(value)) * static_cast<double>(drawing.height - 1))};
  };
  for (std::int64_t line = 0; line < lines; ++line) {
    for (std::int64_t frame = 0; frame < frames; ++frame) {
      const double value = values[frame * lines + line];
      if (!std::isfinite(value)) continue;
      const double before = frame > 0 ? values[(frame - 1) * lines + line] : value;
      const bool joins = frame > 0 && std::isfinite(before);
      canvas.Line(place(joins ? frame - 1 : frame, joins ? before : value), place(frame, value),
                  ColourOf(line));
    }
  }
}

}  // namespace

at::Tensor DrawLines(const at::Tensor& series, const at::Tensor& lengths, const LineDrawing& drawing) {
  if (!series.defined() || series.dim() != 3)
    throw Error("DrawLines needs [rows, frames, lines], got " +
                (series.defined() ? c10::str(series.sizes()) : "an undefined tensor"));
  const at::Tensor values = OnHost(series);
  const Range range = drawing.low < drawing.high ? Range{drawing.low, drawing.high} : RangeOf(values);
  const std::int64_t frames = values.size(1), lines = values.size(2);
  at::Tensor pictures = at::full({values.size(0), 3, drawing.height, drawing.width}, 255, at::kByte);
  const at::Tensor ends = lengths.defined() ? lengths.to(at::kCPU).to(at::kLong).contiguous() : at::Tensor();
  for (std::int64_t row = 0; row < values.size(0); ++row) {
    const std::int64_t end = ends.defined() ? ends.const_data_ptr<std::int64_t>()[row] : frames;
    DrawRow(values.const_data_ptr<double>() + row * frames * lines, std::clamp<std::int64_t>(end, 0, frames),
            lines, range, frames, drawing,
            pictures.mutable_data_ptr<std::uint8_t>() + row * 3 * drawing.height * drawing.width);
  }
  return pictures;
}

at::Tensor DrawSlice(const at::Tensor& volumes, std::int64_t slice) {
  if (!volumes.defined() || volumes.dim() < 4 || volumes.dim() > 5)
    throw Error("DrawSlice needs [rows, depth, height, width], or frames behind the rows, got " +
                (volumes.defined() ? c10::str(volumes.sizes()) : "an undefined tensor"));
  const at::Tensor all = OnHost(volumes.dim() == 5 ? volumes.select(1, 0) : volumes);
  const std::int64_t depth = all.size(1);
  if (slice >= depth)
    throw Error("slice " + std::to_string(slice) + " is not within a depth of " + std::to_string(depth));
  const Range range = RangeOf(all);
  const at::Tensor grey = all.select(1, slice < 0 ? depth / 2 : slice)
                              .sub(range.low)
                              .div(range.high - range.low)
                              .nan_to_num(0, 1, 0)
                              .clamp(0, 1)
                              .mul(255)
                              .round();
  return grey.to(at::kByte).unsqueeze(1).expand({-1, 3, -1, -1}).contiguous();
}

at::Tensor DrawColumn(const Batch& batch, const at::Tensor& column) {
  const bool is_byte = column.scalar_type() == at::kByte;
  if (is_byte && column.dim() == 4 && column.size(1) == 3) return column;
  if (column.dim() == 3 && column.is_floating_point())
    return DrawLines(column, batch.HasColumn("lengths") ? batch.Column("lengths") : at::Tensor());
  const bool is_volume = column.dim() == 4 || column.dim() == 5;
  return is_volume && (is_byte || column.is_floating_point()) ? DrawSlice(column) : at::Tensor();
}

}  // namespace medley
