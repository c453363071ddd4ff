#include <medley/base/clock.h>

#include <array>
#include <chrono>
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

double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace medley
