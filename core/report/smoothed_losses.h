#pragma once

#include <map>
#include <string>

namespace medley {

// What people are shown as a task's loss: the sum of its terms, of each of which recent steps weigh more. A
// step whose rows have no item of a term does not move it.
class SmoothedLosses {
 public:
  void Add(const std::string& task, const std::string& term, double weighted);
  // NaN of a task without any.
  double Of(const std::string& task) const;

 private:
  std::map<std::string, std::map<std::string, double>> losses_;  // by task and term
};

}  // namespace medley
