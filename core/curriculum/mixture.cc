#include <medley/curriculum/mixture.h>

namespace medley {

std::vector<std::string> Mixture::Active() const { return ActiveOf(weights); }

std::vector<std::string> ActiveOf(const Weights& weights) {
  std::vector<std::string> tasks;
  for (const auto& [task, weight] : weights) {
    if (weight > 0) tasks.push_back(task);
  }
  return tasks;
}

void Mixture::Pause(const std::string& task) {
  for (auto& [name, weight] : weights) {
    if (name == task) weight = 0;
  }
}

}  // namespace medley
