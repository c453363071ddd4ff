#include <medley/report/table.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include <medley/base/error.h>

namespace medley {
namespace {

template <typename... Args>
std::string Print(const char* format, Args... args) {
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), format, args...);
  return buffer.data();
}

// Columns on the screen: code points, near enough for task names and numbers.
std::size_t Width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

Table::Table(std::vector<std::string> header, std::size_t words) : words_(words) {
  rows_.push_back(std::move(header));
}

void Table::Add(std::vector<std::string> row) {
  if (row.size() != rows_.front().size()) throw Error("a table row has the wrong number of cells");
  rows_.push_back(std::move(row));
}

std::string Table::ToText() const {
  std::vector<std::size_t> widths(rows_.front().size());
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], Width(row[c]));
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string blank(widths[c] - Width(row[c]), ' ');
      line += (c == 0 ? "" : "  ") + (c < words_ ? row[c] + blank : blank + row[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string FormatBytes(double bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (std::abs(bytes) >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? Print("%.0f B", bytes) : Print("%.1f %s", bytes, kUnits[unit]);
}

std::string FormatSeconds(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) return "-";
  const auto whole = static_cast<long long>(std::llround(seconds));
  const long long h = whole / 3600, m = whole / 60 % 60, s = whole % 60;
  return h > 0 ? Print("%lld:%02lld:%02lld", h, m, s) : Print("%lld:%02lld", m, s);
}

std::string FormatNumber(double value) { return std::isnan(value) ? "-" : Print("%.4g", value); }

std::string FormatShare(double fraction) {
  return std::isnan(fraction) ? "-" : Print("%.1f %%", 100 * fraction);
}

}  // namespace medley
