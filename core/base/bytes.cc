#include <medley/base/bytes.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>

#include <medley/base/error.h>
#include <medley/base/printable.h>

namespace medley {
namespace {

constexpr std::array<const char*, 6> kBinary = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};

double Factor(std::string unit) {
  std::transform(unit.begin(), unit.end(), unit.begin(), [](unsigned char c) { return std::tolower(c); });
  if (unit.empty() || unit == "b") return 1;
  static constexpr std::string_view kLetters = "kmgtp";
  const std::size_t power = kLetters.find(unit[0]);
  if (power == std::string_view::npos) return 0;
  const std::string rest = unit.substr(1);
  if (rest == "ib") return std::ldexp(1.0, 10 * static_cast<int>(power + 1));
  if (rest == "b") return std::pow(1000.0, static_cast<double>(power + 1));
  return 0;
}

}  // namespace

std::string FormatBytes(std::int64_t bytes) {
  // In doubles: the smallest int64 has no absolute value of its own.
  double value = std::abs(static_cast<double>(bytes));
  std::size_t unit = 0;
  // 1023.95 would print as "1024.0".
  while (value >= (unit == 0 ? 1024 : 1023.95) && unit + 1 < kBinary.size()) {
    value /= 1024;
    ++unit;
  }
  char text[48];
  const bool whole = unit == 0 || std::abs(value - std::round(value)) < 0.05;
  std::snprintf(text, sizeof text, "%s%.*f %s", bytes < 0 ? "-" : "", whole ? 0 : 1, value, kBinary[unit]);
  return text;
}

std::int64_t ParseBytes(std::string_view text) {
  const auto fail = [&]() -> std::int64_t {
    throw InputError("expected a number of bytes such as 6GiB, 512MiB or 1000000, found '" + Printable(text) +
                     "'");
  };
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value) || value < 0) return fail();
  std::string unit(end, text.data() + text.size());
  unit.erase(0, unit.find_first_not_of(' ') == std::string::npos ? unit.size() : unit.find_first_not_of(' '));
  const double factor = Factor(unit);
  const double bytes = std::round(value * factor);
  if (factor == 0 || bytes >= 0x1p63) return fail();
  return static_cast<std::int64_t>(bytes);
}

}  // namespace medley
