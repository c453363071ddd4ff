#include <medley/curriculum/forms.h>

#include <algorithm>

namespace medley {
namespace {

// Those that come before it too: while it ramps they still run.
std::vector<std::string> DrawnIn(const Curriculum& curriculum, std::size_t number) {
  const Stage& stage = curriculum.stages[number];
  std::vector<std::string> tasks = stage.Active();
  const std::vector<std::string> scored = stage.Scored();
  tasks.insert(tasks.end(), scored.begin(), scored.end());
  for (std::size_t i = 0; i < number && stage.ramp.draws > 0; ++i) {
    const std::vector<std::string> earlier = curriculum.stages[i].Active();
    tasks.insert(tasks.end(), earlier.begin(), earlier.end());
  }
  return tasks;
}

}  // namespace

std::map<std::string, std::string> FormsOf(const RunConfig& config, const Stage& stage) {
  std::map<std::string, std::string> forms;
  for (const auto& [task, change] : stage.set.tasks) {
    if (const std::string form = FormOf(config, stage.set, task); form != task) forms[task] = form;
  }
  return forms;
}

std::vector<std::string> NamedForms(const RunConfig& config, const Curriculum& curriculum) {
  std::vector<std::string> named;
  for (std::size_t i = 0; i < curriculum.stages.size(); ++i) {
    for (const std::string& task : DrawnIn(curriculum, i)) {
      const std::string form = FormOf(config, curriculum.stages[i].set, task);
      if (std::find(named.begin(), named.end(), form) == named.end()) named.push_back(form);
    }
  }
  return named;
}

void AddForms(RunConfig& config, const Curriculum& curriculum) {
  for (const Stage& stage : curriculum.stages) {
    for (const auto& [task, form] : FormsOf(config, stage))
      config.forms[form] = Changed(ConfigOf(config, task), stage.set.tasks.at(task));
  }
}

}  // namespace medley
