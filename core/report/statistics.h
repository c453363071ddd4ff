#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace medley {

// A mean and where the true one lies with 95 % confidence. Fewer than two independent values tell nothing of
// that: the ends are NaN, and so is the mean of no value.
struct Interval {
  double value = 0;
  double low = 0;
  double high = 0;
};

// Where the values of a figure can be; an infinite end is none.
struct ScoreRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

// The item that each row of a figure shows, by any number: rows of one item are one piece of evidence. Empty:
// every row is an item of its own.
using RowItems = std::vector<std::int64_t>;

// The range of a score with this direction and chance, when its spec does not say: of one of which less is
// better at least 0; with a chance from 0 to 1 from 0 to 1. Nothing: nobody says.
std::optional<ScoreRange> RangeOfScore(bool higher_is_better, const std::optional<double>& chance);

// The range that is meant: the one given, as far as the rows keep to it. Where nobody says it has no ends,
// unless every row is 0 or 1: those are answers, wrong or right.
ScoreRange RangeOf(const std::vector<double>& rows, const std::optional<ScoreRange>& said);

// The mean of the rows and its interval, which never leaves the range. Rows that are NaN are left out.
//
// What varies is the item: a new sample would show other items, each with all of its rows. So the standard
// error is that of the items' sums (cluster-robust, with Student's t for one item less). Where both ends of
// the range are known, Wilson's formula takes it as that of so many answers, right or wrong (Dean and Pagano
// 2015); rows at the ends alone are such answers. Where one end is known, the interval ends there.
Interval MeanInterval(const std::vector<double>& rows, const std::optional<ScoreRange>& said = std::nullopt,
                      const RowItems& items = {});

// The mean of a - b on the same rows and its interval, which is narrower than what two intervals tell
// wherever easy rows are easy for both. Rows where either is NaN are left out. Answers that are right or
// wrong get TangoInterval, others Student's, inside what the range allows.
Interval PairedInterval(const std::vector<double>& a, const std::vector<double>& b,
                        const std::optional<ScoreRange>& said = std::nullopt, const RowItems& items = {});

// How many different items the rows that are no NaN show.
std::int64_t ItemCount(const std::vector<double>& rows, const RowItems& items);
// NaN where no row is a number.
double MeanOf(const std::vector<double>& rows);
// Of two in the middle the greater one; NaN of none.
double MedianOf(std::vector<double> values);

// The 95 % interval of a share: Wilson's score interval (Wilson 1927), which stays inside [0, 1] and is
// honest at 0 % and 100 %, with the end next to them as in Brown, Cai and DasGupta 2001 (4.1.2), without
// which a share very near to an end is held 84 times in a hundred. Successes and trials need not be whole:
// see MeanInterval.
Interval WilsonInterval(double successes, double trials);
// The same formula for a mean of values in [0, 1] that are as much evidence as `trials` answers that are
// right or wrong; `quantile` is how many standard errors it reaches.
Interval WilsonInterval(double mean, double trials, double quantile);

// The 95 % interval of the difference of two shares on the same trials: Tango's score interval (Tango 1998).
// `more` of the trials went to the first alone, `less` to the second alone. Stays inside [-1, 1]. Where two
// or three trials differ, or none, it errs on the wide side (of 64 it holds a difference of 0 up to 99.9
// times in a hundred), as any must that holds 0 often enough where four do: what is told apart is told by
// whole trials.
Interval TangoInterval(double more, double less, double trials);

}  // namespace medley
