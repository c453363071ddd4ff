#include <medley/runs/run_pace.h>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <medley/base/descriptor.h>
#include <medley/report/log_lines.h>
#include <medley/report/metrics.h>
#include <medley/report/statistics.h>

namespace medley {
namespace {

constexpr std::size_t kRecent = 100;      // steps
constexpr std::int64_t kEnd = 128 << 10;  // bytes

std::string EndOf(const std::filesystem::path& path) {
  const Descriptor file(path, O_RDONLY | kPlainOnly);
  const off_t size = file.ok() ? ::lseek(file.get(), 0, SEEK_END) : -1;
  if (size <= 0) return "";
  const off_t begin = std::max<off_t>(0, size - kEnd);
  std::string text(static_cast<std::size_t>(size - begin), '\0');
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), begin);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  if (begin > 0) text.erase(0, text.find('\n') + 1);
  return text.substr(0, text.rfind('\n') + 1);  // the last line may still be written
}

}  // namespace

RunPace PaceOf(const std::filesystem::path& run) {
  const std::string text = EndOf(run / kTimingLog);
  RunPace pace;
  std::vector<double> seconds;
  for (std::size_t end = text.size(); end > 0 && seconds.size() < kRecent;) {
    const std::size_t begin = end < 2 ? 0 : text.rfind('\n', end - 2) + 1;
    const LogLine line = ReadLogLine(text.substr(begin, end - begin - 1));
    pace.step = std::max(pace.step, line.step);
    if (const double one = NumberAt(line.json, "seconds"); std::isfinite(one)) seconds.push_back(one);
    end = begin;
  }
  pace.seconds = MedianOf(std::move(seconds));
  return pace;
}

}  // namespace medley
