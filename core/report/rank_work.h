#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace medley {

// How long the processes of a run worked at its steps, and so waited for each other: a step takes as long as
// the one that works the longest.
class RankWork {
 public:
  // Of a step, by rank, in any unit; none: of a process alone. `kept`: how much of what was added until now.
  void Add(const std::vector<double>& work, double kept = 1);
  bool any() const { return !work_.empty(); }
  // Time that a process waited for others, as a mean of all.
  double Waited() const;
  // Who worked the most.
  std::size_t Slowest() const;
  // "12 % waiting for processes (rank 2)"; "" of a process alone. `in_all`: of the steps' time.
  std::string Words(double in_all) const;

 private:
  std::vector<double> work_;
  double longest_ = 0;  // of each step the longest, added up
};

}  // namespace medley
