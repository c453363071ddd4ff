#pragma once

#include <map>
#include <string>
#include <vector>

#include <medley/config/run_config.h>
#include <medley/curriculum/curriculum.h>
#include <medley/curriculum/form.h>

namespace medley {

// The forms of a run's tasks: the config's own, and those that the stages of its curriculum make of them. An
// edit of the weights adds its own; none is ever changed or forgotten, so that references and ids stay good.
class FormTable {
 public:
  FormTable() = default;
  explicit FormTable(const RunConfig& config);
  FormTable(const RunConfig& config, const Curriculum& curriculum);

  // What is there already stays; other forms of its tasks join it.
  void Add(const Curriculum& curriculum);

  // The form of an id that it gave; an Error for another one.
  const Form& At(const FormId& form) const;
  // The task as the config has it, by the defaults where it does not name the task.
  Form Own(const std::string& task) const;
  // The form in which a stage draws or scores the task; an Error where the stage's curriculum was not added.
  const Form& Of(const Stage& stage, const std::string& task) const;
  // All that the stages draw or score, in the order in which they come, each once; of a stage with a ramp
  // also what the earlier ones draw, which still runs there. An Error where the curriculum was not added.
  std::vector<Form> Named(const Curriculum& curriculum) const;

 private:
  const Form* Find(const std::string& task, const TaskConfig& settings) const;
  void AddOwn(const std::string& task);
  void AddChanged(const std::string& task, const TaskConfig& settings);

  std::map<FormId, Form> forms_;
};

}  // namespace medley
