#pragma once

#include <optional>
#include <vector>

namespace medley {

// A mean and where the true one lies with 95 % confidence. Fewer than two rows tell nothing of that: the ends
// are NaN, and so is the mean of no row.
struct Interval {
  double value = 0;
  double low = 0;
  double high = 0;
};

// What the rows of a figure are, and so where its interval must end.
enum class Quantity {
  kShare,    // from 0 to 1: of answers that are right, of things that were found
  kAmount,   // at least 0: an error, a distance
  kAny,      // of either sign
  kUnknown,  // nobody says: rows that are all 0 or 1 are taken for shares, others that are all at least 0 for
             // amounts
};

// What a task's spec says of its score. With a chance from 0 to 1, where more is better: a share. Where less
// is better: an amount.
Quantity QuantityOfScore(bool higher_is_better, const std::optional<double>& chance);

// Of independent rows. Shares that are all 0 or 1 get WilsonInterval, others StudentInterval, cut to where
// their quantity can be, as far as the rows themselves keep to that. Rows that are NaN are left out.
Interval MeanInterval(const std::vector<double>& rows, Quantity quantity = Quantity::kUnknown);

// Wilson's score interval (Wilson 1927): stays inside [0, 1] and is honest at 0 % and 100 %.
Interval WilsonInterval(double successes, double trials);
// mean +- standard error times the 0.975 quantile of Student's t, which is 1.96 only for many rows.
Interval StudentInterval(const std::vector<double>& rows);
// Of a - b on the same rows, which is narrower than what two intervals tell wherever easy rows are easy for
// both: StudentInterval of the differences. Rows where either is NaN are left out.
Interval PairedInterval(const std::vector<double>& a, const std::vector<double>& b);
// NaN where no row is a number.
double MeanOf(const std::vector<double>& rows);

}  // namespace medley
