#pragma once

#include <cstdint>
#include <vector>

namespace medley {

// The peak of one measured step: bytes above the floor, with so many rows in a forward.
struct Probe {
  std::int64_t rows = 0;
  std::int64_t bytes = 0;
  bool operator==(const Probe&) const = default;
};

// The peak of a step as a function of its rows. A step is a sequence of moments, each of which needs
// a + k * rows bytes: its peak is the largest of those lines, a convex curve. So from a few probes:
//   at a probe       what was measured;
//   between two      the chord, which lies on the curve or above it: safe to plan on;
//   above the last   the line through the last two, exact once the steepest moment rules there; a step at the
//                    planned rows confirms it;
//   above a single   in proportion to the rows, an upper bound that only a second probe lowers;
//   below the first  the first probe's bytes: a line would lie below the curve, as moments rule there whose
//                    bytes do not depend on the rows. That is why one probe has a single row.
// Where the probes are not convex (a GPU's allocator rounds) the steepest chord takes the last one's place.
class PeakLines {
 public:
  PeakLines() = default;
  explicit PeakLines(std::vector<Probe> probes);  // in any order

  bool empty() const { return probes_.empty(); }
  std::int64_t largest_probe() const { return empty() ? 0 : probes_.back().rows; }  // rows
  // Bytes above the floor, rounded up; 0 for no rows. Needs a probe.
  std::int64_t At(std::int64_t rows) const;
  // The most rows, up to `most`, whose peak is within `bytes`; 0 where not even one fits.
  std::int64_t LargestRows(std::int64_t bytes, std::int64_t most) const;

 private:
  std::int64_t Above(std::int64_t rows) const;

  std::vector<Probe> probes_;  // by rows; bytes never fall
};

// The largest n in [0, most] for which `fits` holds; it holds up to some n and for none above.
template <typename Fits>
std::int64_t LargestThat(std::int64_t most, const Fits& fits) {
  std::int64_t good = 0, bad = most + 1;
  while (bad - good > 1) {
    const std::int64_t middle = good + (bad - good) / 2;
    (fits(middle) ? good : bad) = middle;
  }
  return good;
}

}  // namespace medley
