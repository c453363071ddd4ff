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

}  // namespace medley
