#include <medley/curriculum/form_table.h>

#include <algorithm>

#include <medley/base/error.h>
#include <medley/base/file_digest.h>

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

FormId IdOf(const std::string& task, const std::string& settings) {
  constexpr std::size_t kShown = 6;
  return FormId(task + "@" + HashText(settings).substr(0, kShown));
}

}  // namespace

FormTable::FormTable(const RunConfig& config) {
  for (const auto& [task, settings] : config.tasks) forms_.emplace(FormId(task), OwnForm(task, settings));
}

FormTable::FormTable(const RunConfig& config, const Curriculum& curriculum) : FormTable(config) {
  Add(curriculum);
}

void FormTable::Add(const Curriculum& curriculum) {
  for (const std::string& task : curriculum.All()) AddOwn(task);
  for (const Stage& stage : curriculum.stages) {
    for (const std::string& task : stage.Scored()) AddOwn(task);
    for (const auto& [task, change] : stage.set.tasks) {
      AddOwn(task);
      AddChanged(task, Changed(At(FormId(task)).settings, change));
    }
  }
}

void FormTable::AddOwn(const std::string& task) { forms_.try_emplace(FormId(task), OwnForm(task)); }

void FormTable::AddChanged(const std::string& task, const TaskConfig& settings) {
  if (Find(task, settings) != nullptr) return;
  std::string text = ToJson(settings).dump();
  FormId id = IdOf(task, text);
  while (forms_.count(id) > 0)
    id = IdOf(task, text += ' ');  // another one's, whose hash is the same by chance
  forms_.emplace(id, Form{.task = task, .settings = settings, .id = id});
}

const Form* FormTable::Find(const std::string& task, const TaskConfig& settings) const {
  const auto found = std::ranges::find_if(
      forms_, [&](const auto& form) { return form.second.task == task && form.second.settings == settings; });
  return found == forms_.end() ? nullptr : &found->second;
}

const Form& FormTable::At(const FormId& form) const {
  const auto found = forms_.find(form);
  if (found == forms_.end()) throw Error("nobody knows the settings of the form '" + form.text() + "'");
  return found->second;
}

Form FormTable::Own(const std::string& task) const {
  const auto found = forms_.find(FormId(task));
  return found == forms_.end() ? OwnForm(task) : found->second;
}

const Form& FormTable::Of(const Stage& stage, const std::string& task) const {
  const Form& own = At(FormId(task));
  const auto change = stage.set.tasks.find(task);
  if (change == stage.set.tasks.end()) return own;
  const Form* form = Find(task, Changed(own.settings, change->second));
  if (form == nullptr)
    throw Error("nobody knows the form of task " + task + " in stage '" + stage.name + "'");
  return *form;
}

std::vector<Form> FormTable::Named(const Curriculum& curriculum) const {
  std::vector<Form> named;
  for (std::size_t i = 0; i < curriculum.stages.size(); ++i) {
    for (const std::string& task : DrawnIn(curriculum, i)) {
      const Form& form = Of(curriculum.stages[i], task);
      const auto is_same = [&](const Form& other) { return other.id == form.id; };
      if (std::ranges::none_of(named, is_same)) named.push_back(form);
    }
  }
  return named;
}

}  // namespace medley
