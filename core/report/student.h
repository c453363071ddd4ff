#pragma once

#include <vector>

#include <medley/report/statistics.h>

namespace medley {

// Intervals of what differs from run to run: independent values of any range, each by Student's t. Fewer than
// two values tell nothing of how they spread, and neither do values that are all the same: the ends are NaN.

// How many standard errors an interval of that confidence reaches, with so many degrees of freedom.
double StudentQuantile(double degrees, double confidence = 0.95);

// Of the mean; NaN itself of no value.
Interval StudentInterval(const std::vector<double>& values, double confidence = 0.95);
// Of the mean of a - b, where what stands at the same place has something in common, such as its seed. As
// many of both.
Interval PairedStudentInterval(const std::vector<double>& a, const std::vector<double>& b,
                               double confidence = 0.95);
// Of the mean of a less that of b, which have nothing in common, nor need the same spread (Welch 1947).
Interval WelchInterval(const std::vector<double>& a, const std::vector<double>& b, double confidence = 0.95);

}  // namespace medley
