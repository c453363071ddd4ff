#include <medley/run/run_classes.h>

#include <vector>

#include <medley/checkpoint/checkpoint_files.h>
#include <medley/checkpoint/run_directory.h>
#include <medley/plugin/model_maker.h>
#include <medley/plugin/task_classes.h>
#include <medley/run/rules_record.h>

namespace medley {
namespace {

// By the shapes of a model that tells one class more apart.
void AddParametersOf(const std::string& field, const Run& run, std::set<std::string>& names) {
  ModelFile more = *run.model_file;
  more.config.Set(field, static_cast<double>(more.config.Integer(field) + 1));
  const auto wider = MakeModel(more, *run.registry, run.tokenizer.get(), 0, at::kMeta);
  std::map<std::string, at::Tensor> shapes;
  for (const Parameter& parameter : wider->parameters()) shapes[parameter.name] = parameter.tensor;
  for (const Parameter& parameter : run.model->parameters()) {
    const auto found = shapes.find(parameter.name);
    if (found != shapes.end() && found->second.sizes() != parameter.tensor.sizes())
      names.insert(parameter.name);
  }
}

// Of the run that it begins with. One that began before there was such a record knows none.
DataRules RulesOfOrigin(const Run& run) {
  std::filesystem::path from = run.config.init_from.run;
  if (StepOfName(from.filename().string()) >= 0) from = from.parent_path();
  return RulesIn(ReadRunRecord(from));
}

}  // namespace

void FollowClasses(const PluginHost& host, Run& run) {
  for (const std::string& name : run.NamedTasks()) {
    const TaskInfo& task = run.registry->Require(name);
    if (ClassesField(task, run.model_file->info).empty()) continue;
    const std::vector<std::string> classes = host.ClassesOf(run.forms.Own(name));
    if (!classes.empty()) FollowClasses(task, std::ssize(classes), *run.model_file);
  }
}

std::set<std::string> ParametersOfNewClasses(const Run& run) {
  std::set<std::string> names;
  if (run.config.init_from.run.empty()) return names;
  const DataRules origin = RulesOfOrigin(run);
  if (!origin.NamesAreText()) return names;  // it has no record
  for (const std::string& name : run.NamedTasks()) {
    const std::vector<std::string>& classes = run.rules->ClassesOf(name);
    // Of a run from before names were kept nobody knows whether they are others: it is taken whole.
    if (!classes.empty() && !origin.ClassesOf(name).empty() && classes != origin.ClassesOf(name))
      AddParametersOf(ClassesField(run.registry->Require(name), run.model_file->info), run, names);
  }
  return names;
}

}  // namespace medley
