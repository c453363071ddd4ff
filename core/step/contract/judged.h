#pragma once

#include <cstddef>
#include <set>
#include <string>

namespace medley {

// What was found out of the losses, beside what is wrong.
struct Judged {
  std::set<std::string> not_judged{};  // what could not be looked at, in words
  // Terms that have a weight: of which two rows alone have unlike sums and a gradient that is not 0, so that
  // rows together show whether they add up; and of which any row has such a gradient. Of outputs that were
  // made up.
  std::set<std::string> told{}, moved{};
  bool ran = false;        // passes ran on such outputs
  bool row_by_row = true;  // so the model gives what has no rows in front: see RecordedModel
  std::size_t rows = 0;    // the most that were looked at at once

  void Add(const Judged& more);
};

}  // namespace medley
