#include <medley/curriculum/curriculum.h>

#include <algorithm>
#include <utility>

namespace medley {
namespace {

void AddOnce(std::vector<std::string>& tasks, const std::string& task) {
  if (std::ranges::find(tasks, task) == tasks.end()) tasks.push_back(task);
}

}  // namespace

std::vector<std::string> Stage::Active() const { return ActiveOf(weights); }

std::vector<std::string> Stage::Scored() const {
  std::vector<std::string> tasks;
  if (!until) return tasks;
  for (const auto& subject : SubjectsOf(*until)) {
    if (subject.is_scored) AddOnce(tasks, subject.task);
  }
  return tasks;
}

Mixture Curriculum::MixtureOf(std::size_t stage) const {
  return {.unit = unit, .order = order, .weights = stages.at(stage).weights};
}

std::vector<std::string> Curriculum::Named() const {
  std::vector<std::string> tasks;
  for (const Stage& stage : stages) {
    for (const std::string& task : stage.Active()) AddOnce(tasks, task);
  }
  return tasks;
}

std::vector<std::string> Curriculum::All() const {
  std::vector<std::string> tasks;
  for (const Stage& stage : stages) {
    for (const auto& [task, weight] : stage.weights) AddOnce(tasks, task);
  }
  return tasks;
}

std::vector<std::string> Curriculum::PathOf(std::size_t stage) const {
  if (stages.at(stage).name.empty() && stages.size() == 1) return {};
  return {"stages", std::to_string(stage)};
}

Curriculum OneStage(Weights weights, ShareUnit unit, DrawOrder order) {
  Curriculum curriculum{.unit = unit, .order = order, .stages = {}};
  curriculum.stages.emplace_back().weights = std::move(weights);
  return curriculum;
}

}  // namespace medley
