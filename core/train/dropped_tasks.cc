#include <medley/train/dropped_tasks.h>

#include <utility>

namespace medley {

bool DroppedTasks::Drop(const std::string& task, const std::string& reason) {
  reasons_[task] = reason;
  Mixture mixture = mixer_.mixture();
  mixture.Pause(task);
  if (mixture.Active().empty()) return false;
  mixer_.SetMixture(std::move(mixture));
  return true;
}

void DroppedTasks::Load(std::map<std::string, std::string> reasons) {
  reasons_ = std::move(reasons);
  if (reasons_.empty()) return;
  Mixture mixture = mixer_.mixture();
  for (const auto& [task, reason] : reasons_) mixture.Pause(task);
  mixer_.SetMixture(std::move(mixture));
}

}  // namespace medley
