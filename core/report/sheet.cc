#include <medley/report/sheet.h>

#include <algorithm>
#include <cstdint>

#include <medley/base/error.h>
#include <medley/report/label.h>

namespace medley {
namespace {

constexpr std::int64_t kCellGap = 6;

using Row = std::vector<Picture>;

// The pictures with what is written beside them: a row of headings first, numbers in the first column.
std::vector<Row> WithLabels(const std::vector<Row>& cells, const std::vector<std::string>& headings) {
  std::vector<Row> rows;
  if (!headings.empty()) {
    Row& first = rows.emplace_back(1);
    for (const std::string& heading : headings) first.push_back(MakeLabel(heading));
  }
  for (std::size_t row = 0; row < cells.size(); ++row) {
    Row& labelled = rows.emplace_back();
    labelled.push_back(MakeLabel(std::to_string(row + 1)));
    labelled.insert(labelled.end(), cells[row].begin(), cells[row].end());
  }
  return rows;
}

std::int64_t HeightOf(const Row& row) {
  std::int64_t height = 0;
  for (const Picture& cell : row) height = std::max(height, cell.height);
  return height;
}

}  // namespace

Picture MakeSheet(const std::vector<Row>& cells, const std::vector<std::string>& headings) {
  std::int64_t tallest = 0;
  for (const Row& row : cells) tallest = std::max(tallest, HeightOf(row));
  if (tallest == 0) throw Error("a picture sheet needs at least one picture");
  const std::vector<Row> rows = WithLabels(cells, headings);
  std::vector<std::int64_t> widths;  // of the columns
  std::int64_t width = kCellGap, height = kCellGap;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].width);
    height += HeightOf(row) + kCellGap;
  }
  for (const std::int64_t column : widths) width += column + kCellGap;
  Picture sheet(width, height, kSheetGround);
  std::int64_t top = kCellGap;
  for (const Row& row : rows) {
    std::int64_t left = kCellGap;
    for (std::size_t c = 0; c < row.size(); left += widths[c++] + kCellGap) sheet.Paste(row[c], left, top);
    top += HeightOf(row) + kCellGap;
  }
  return sheet;
}

bool HasSheetsFrame(const Picture& picture) {
  if (picture.width <= 2 * kCellGap || picture.height <= 2 * kCellGap) return false;
  for (std::int64_t y = 0; y < picture.height; ++y) {
    const bool is_above_or_below = y < kCellGap || y >= picture.height - kCellGap;
    for (std::int64_t x = 0; x < picture.width; ++x) {
      const bool is_beside = x < kCellGap || x >= picture.width - kCellGap;
      if (!is_above_or_below && !is_beside) continue;
      const std::uint8_t* pixel = &picture.pixels[static_cast<std::size_t>(3 * (y * picture.width + x))];
      if (std::any_of(pixel, pixel + 3, [](std::uint8_t value) { return value != kSheetGround; }))
        return false;
    }
  }
  return true;
}

}  // namespace medley
