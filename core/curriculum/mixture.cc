#include <medley/curriculum/mixture.h>

namespace medley {

std::string_view NameOf(ShareUnit unit) {
  return EnumNames<ShareUnit>::kNames[static_cast<std::size_t>(unit)];
}

std::string_view NameOf(DrawOrder order) {
  return EnumNames<DrawOrder>::kNames[static_cast<std::size_t>(order)];
}

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
