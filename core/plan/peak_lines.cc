#include <medley/plan/peak_lines.h>

#include <algorithm>
#include <cassert>

namespace medley {
namespace {

__extension__ using Wide = __int128;  // bytes times rows

constexpr Wide kTooMuch = std::int64_t{1} << 60;  // bytes

// rows * (bytes a row, as a fraction), rounded up; what no machine has is as good as more of it.
std::int64_t Times(std::int64_t rows, std::int64_t bytes, std::int64_t per_rows) {
  const Wide product = static_cast<Wide>(rows) * bytes;
  return static_cast<std::int64_t>(std::min((product + per_rows - 1) / per_rows, kTooMuch));
}

}  // namespace

PeakLines::PeakLines(std::vector<Probe> probes) {
  std::ranges::sort(probes, [](const Probe& a, const Probe& b) {
    return a.rows != b.rows ? a.rows < b.rows : a.bytes < b.bytes;
  });
  std::int64_t highest = 0;
  for (const Probe& probe : probes) {
    highest = std::max(highest, probe.bytes);
    if (!probes_.empty() && probes_.back().rows == probe.rows) probes_.pop_back();
    probes_.push_back({probe.rows, highest});
  }
}

std::int64_t PeakLines::At(std::int64_t rows) const {
  assert(!probes_.empty());
  if (rows <= 0) return 0;
  if (rows > probes_.back().rows) return Above(rows);
  const auto right = std::ranges::find_if(probes_, [&](const Probe& probe) { return probe.rows >= rows; });
  if (right == probes_.begin() || right->rows == rows) return right->bytes;
  const Probe& left = *(right - 1);
  return left.bytes + Times(rows - left.rows, right->bytes - left.bytes, right->rows - left.rows);
}

std::int64_t PeakLines::Above(std::int64_t rows) const {
  const Probe& last = probes_.back();
  if (probes_.size() == 1) return Times(rows, last.bytes, last.rows);
  std::int64_t highest = last.bytes;
  for (std::size_t i = 1; i < probes_.size(); ++i) {
    const Probe &left = probes_[i - 1], &right = probes_[i];
    highest = std::max(
        highest, last.bytes + Times(rows - last.rows, right.bytes - left.bytes, right.rows - left.rows));
  }
  return highest;
}

std::int64_t PeakLines::LargestRows(std::int64_t bytes, std::int64_t most) const {
  return LargestThat(most, [&](std::int64_t rows) { return At(rows) <= bytes; });
}

}  // namespace medley
