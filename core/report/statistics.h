#pragma once

#include <vector>

namespace medley {

// A mean and where the true one lies with 95 % confidence.
struct Interval {
  double value = 0;
  double low = 0;
  double high = 0;
};

// Of independent rows. Rows that are all 0 or 1 are an accuracy and get Wilson's score interval (Wilson
// 1927), which stays inside [0, 1] and is honest at 0 % and 100 %; others get mean +- 1.96 standard errors.
// Rows that are NaN are left out; without any row all three are NaN.
Interval MeanInterval(const std::vector<double>& rows);

Interval WilsonInterval(double successes, double trials);
Interval NormalInterval(const std::vector<double>& rows);
// Of a - b on the same rows, which is narrower than what two intervals tell wherever easy rows are easy for
// both: mean +- 1.96 standard errors of the differences. Rows where either is NaN are left out; with fewer
// than two rows the ends are NaN.
Interval PairedInterval(const std::vector<double>& a, const std::vector<double>& b);
// NaN where no row is a number.
double MeanOf(const std::vector<double>& rows);

}  // namespace medley
