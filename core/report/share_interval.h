#pragma once

#include <medley/report/interval.h>

namespace medley {

// The 95 % interval of a share: Wilson's score interval (Wilson 1927), which stays inside [0, 1] and is
// honest at 0 % and 100 %, with the end next to them as in Brown, Cai and DasGupta 2001 (4.1.2), without
// which a share very near to an end is held 84 times in a hundred. Successes and trials need not be whole:
// see MeanInterval.
Interval WilsonInterval(double successes, double trials);
// The same formula for a mean of values in [0, 1] that are as much evidence as `trials` answers that are
// right or wrong; `quantile` is how many standard errors it reaches.
Interval WilsonInterval(double mean, double trials, double quantile);

// The 95 % interval of the difference of two shares on the same trials: Tango's score interval (Tango 1998).
// `more` of the trials went to the first alone, `less` to the second alone. Stays inside [-1, 1].
Interval TangoInterval(double more, double less, double trials);

}  // namespace medley
