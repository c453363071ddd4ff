#pragma once

#include <map>
#include <string>
#include <vector>

namespace medley {

// A short name for each task of a run, which it keeps, so that nobody takes one task for two: "zgol" is
// zoom_gold, whatever the width of the line. No two tasks have the same one, and none is another's whole
// name.
class ShortNames {
 public:
  // Those that have a name keep it, whatever comes beside them. Returns those that had none.
  std::vector<std::string> Add(const std::vector<std::string>& tasks);
  // Of one that was added.
  const std::string& Of(const std::string& task) const { return names_.at(task); }

 private:
  bool IsFree(const std::string& name, const std::string& task) const;

  std::map<std::string, std::string> names_;  // by task
};

}  // namespace medley
