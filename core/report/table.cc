#include <medley/report/table.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <sstream>
#include <utility>

#include <medley/base/bytes.h>
#include <medley/base/error.h>
#include <medley/base/printable.h>

namespace medley {
namespace {

template <typename... Args>
std::string Print(const char* format, Args... args) {
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), format, args...);
  return buffer.data();
}

constexpr std::size_t kColumnGap = 2, kNarrowestProse = 16, kStay = 2;

std::size_t LongestWord(const std::string& text) {
  std::size_t longest = 0;
  std::istringstream words(text);
  for (std::string word; words >> word;) longest = std::max(longest, TextWidth(word));
  return longest;
}

std::vector<std::string> LinesOf(const std::string& cell, std::size_t width) {
  std::vector<std::string> lines;
  std::istringstream text(TextWidth(cell) <= width ? cell : Wrapped(cell, width, 0));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

}  // namespace

Table::Table(std::vector<std::string> header, std::size_t words) : words_(words), broken_(header.size()) {
  rows_.push_back(std::move(header));
}

std::size_t Table::PlaceOf(const std::string& column) const {
  const Row& header = rows_.front();
  const auto found = std::ranges::find(header, column);
  if (found == header.end()) throw Error("a table has no column '" + column + "'");
  return static_cast<std::size_t>(found - header.begin());
}

Table& Table::Spares(const std::vector<std::string>& columns) {
  for (const std::string& column : columns) {
    spares_.push_back(PlaceOf(column));
    if (spares_.back() < kStay)
      throw Error("a table's first " + std::to_string(kStay) + " columns stay, and '" + column +
                  "' is one of them");
  }
  return *this;
}

Table& Table::Breaks(const std::string& column) {
  broken_ = PlaceOf(column);
  return *this;
}

Table& Table::BreaksLast(const std::string& column) {
  breaks_last_ = true;
  return Breaks(column);
}

void Table::Add(Row row) {
  if (row.size() != rows_.front().size()) throw Error("a table row has the wrong number of cells");
  for (std::string& cell : row) cell = Printable(cell);
  rows_.push_back(std::move(row));
}

// Returns how wide the table is with them.
std::size_t Table::FitWidths(const std::vector<std::size_t>& shown, std::size_t columns, bool may_break,
                             Widths& widths) const {
  const auto total = [&] {
    std::size_t sum = kColumnGap * (shown.size() - 1);
    for (const std::size_t c : shown) sum += widths[c];
    return sum;
  };
  widths.assign(rows_.front().size(), 0);
  for (const Row& row : rows_) {
    for (const std::size_t c : shown) widths[c] = std::max(widths[c], TextWidth(row[c]));
  }
  if (total() <= columns) return total();
  for (const std::size_t c : shown) {
    widths[c] = LongestWord(rows_.front()[c]);
    for (std::size_t row = 1; row < rows_.size(); ++row)
      widths[c] = std::max(widths[c], TextWidth(rows_[row][c]));
  }
  if (total() <= columns || !may_break || std::ranges::find(shown, broken_) == shown.end()) return total();
  std::size_t least = kNarrowestProse;
  for (const Row& row : rows_) least = std::max(least, LongestWord(row[broken_]));
  const std::size_t excess = total() - columns;
  widths[broken_] = widths[broken_] > excess ? std::max(least, widths[broken_] - excess) : least;
  return total();
}

// The header's cells stand at its bottom, those of other rows at their top.
std::string Table::RowText(const Row& row, const std::vector<std::size_t>& shown,
                           const Widths& widths) const {
  std::vector<std::vector<std::string>> cells;
  std::size_t height = 1;
  for (const std::size_t c : shown)
    height = std::max(height, cells.emplace_back(LinesOf(row[c], widths[c])).size());
  if (&row == &rows_.front()) {
    for (auto& lines : cells) lines.insert(lines.begin(), height - lines.size(), "");
  }
  std::string text;
  for (std::size_t y = 0; y < height; ++y) {
    std::string line;
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const std::string words = y < cells[i].size() ? cells[i][y] : "";
      const std::string blank(widths[shown[i]] - std::min(widths[shown[i]], TextWidth(words)), ' ');
      const bool is_left = shown[i] < words_ || shown[i] == broken_;
      line += (i == 0 ? "" : std::string(kColumnGap, ' ')) + (is_left ? words + blank : blank + words);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    for (std::size_t at; (at = line.find(kNoBreak)) != std::string::npos;) line.replace(at, 2, " ");
    text += line + "\n";
  }
  return text;
}

std::string Table::ToText(std::size_t columns) const {
  std::vector<std::size_t> shown(rows_.front().size());
  std::iota(shown.begin(), shown.end(), 0);
  std::string hidden;
  Widths widths;
  for (const std::size_t spare : spares_) {
    if (FitWidths(shown, columns, !breaks_last_, widths) <= columns) break;
    std::erase(shown, spare);
    hidden += (hidden.empty() ? "" : ", ") + rows_.front()[spare];
  }
  FitWidths(shown, columns, true, widths);
  std::string text;
  for (const Row& row : rows_) text += RowText(row, shown, widths);
  if (hidden.empty()) return text;
  return text + Wrapped("(no room for: " + hidden + "; --wide shows all)", columns) + "\n";
}

std::string FormatBytesOf(std::int64_t bytes, std::int64_t whole) {
  const double part = static_cast<double>(bytes) / static_cast<double>(std::max<std::int64_t>(1, whole));
  return FormatBytes(bytes) + " (" + FormatShare(part) + ")";
}

std::string FormatNumber(double value) {
  if (std::isnan(value)) return "-";
  const bool is_whole = std::abs(value) >= 1e4 && std::abs(value) < 1e9;
  return Print(is_whole ? "%.0f" : "%.4g", value);
}

std::string FormatShare(double fraction) {
  return std::isnan(fraction) ? "-" : Print("%.1f %%", 100 * fraction);
}

}  // namespace medley
