#pragma once

// The memory tables of the two systems that the signs and volumes plugins follow, figure by figure: what they
// printed, what first principles give, and where the two differ, why. Closed forms; no model runs here. Rows
// of their tables that are no figure have a line that says so.

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace medley::testing {

inline constexpr double kMB = 1e6, kGB = 1e9, kMiB = 1 << 20, kGiB = 1 << 30;

struct Figure {
  const char* what;
  double low, high;  // as printed; equal where it is one number
  double ours;       // computed here
  double checked;    // computed or measured by others before us
  const char* why;   // "": reproduced; else why it is corrected
};

// Ours is what others found, within `tolerance` of it, and as printed (to two digits) exactly where it is not
// marked as corrected.
inline void Check(const std::vector<Figure>& figures, double tolerance) {
  constexpr double kRounded = 0.04;
  for (const Figure& figure : figures) {
    EXPECT_NEAR(figure.ours / figure.checked, 1, tolerance) << figure.what;
    const bool as_printed =
        figure.ours >= figure.low * (1 - kRounded) && figure.ours <= figure.high * (1 + kRounded);
    EXPECT_EQ(as_printed, figure.why[0] == '\0')
        << figure.what << ": printed " << figure.low << " to " << figure.high << ", ours " << figure.ours;
  }
}

// Bytes of a sample with 1 to 4 images in a 7B language model, as printed, MB; and its weights.
inline constexpr std::int64_t kPerSample[] = {800, 1500, 2100, 2600}, kWeights = 14'000;

}  // namespace medley::testing
