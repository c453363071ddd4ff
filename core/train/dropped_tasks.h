#pragma once

#include <map>
#include <string>

#include <medley/curriculum/mixer.h>

namespace medley {

// The tasks that a run gave up, and why; for ever. They leave the mixture.
class DroppedTasks {
 public:
  // Keeps the reference.
  explicit DroppedTasks(Mixer& mixer) : mixer_(mixer) {}

  // False where no other task is left; then the mixture stays as it is.
  bool Drop(const std::string& task, const std::string& reason);
  // Those of a checkpoint; to be called before the mixer loads, which compares its mixture with the saved
  // one.
  void Load(std::map<std::string, std::string> reasons);
  const std::map<std::string, std::string>& reasons() const { return reasons_; }

 private:
  Mixer& mixer_;
  std::map<std::string, std::string> reasons_;
};

}  // namespace medley
