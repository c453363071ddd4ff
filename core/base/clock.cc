#include <medley/base/clock.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>

namespace medley {
namespace {

std::string Format(const char* format, bool utc) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  if (utc) {
    ::gmtime_r(&now, &parts);
  } else {
    ::localtime_r(&now, &parts);
  }
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), format, &parts);
  return text.data();
}

}  // namespace

std::string TimeStamp() { return Format("%Y-%m-%dT%H:%M:%SZ", true); }
std::string TimeForName() { return Format("%Y%m%d-%H%M%S", false); }

std::string FormatSeconds(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) return "-";
  const auto whole = static_cast<long long>(std::llround(seconds));
  const long long h = whole / 3600, m = whole / 60 % 60, s = whole % 60;
  std::array<char, 32> text{};
  if (h > 0) {
    std::snprintf(text.data(), text.size(), "%lld:%02lld:%02lld", h, m, s);
  } else {
    std::snprintf(text.data(), text.size(), "%lld:%02lld", m, s);
  }
  return text.data();
}

double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace medley
