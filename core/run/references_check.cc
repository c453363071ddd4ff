#include <medley/run/references_check.h>

#include <vector>

#include <medley/base/suggest.h>
#include <medley/curriculum/form_table.h>
#include <medley/run/input_files.h>

namespace medley {
namespace {

// The keys that mean something for the other kind alone.
void CheckKindOf(ConfigFile& config, const std::string& name, const ReferenceConfig& reference) {
  const std::vector<std::string> above = {"references", name};
  const auto refuse = [&](const char* key, const char* words) {
    std::vector<std::string> path = above;
    path.emplace_back(key);
    if (config.Find(path) != nullptr) config.FailAtKey(path, words);
  };
  if (reference.of == "average") {
    for (const char* key : {"run", "weights"}) refuse(key, "is of \"run\" alone; leave it out");
  } else if (reference.of == "run") {
    for (const char* key : {"decay", "to", "every"}) refuse(key, "is of \"average\" alone; leave it out");
    if (reference.run.empty())
      config.FailAt(above, "lacks run, the directory of the run whose weights it has");
  }
}

}  // namespace

std::set<std::string> AskedReferences(const Registry& registry, const std::string& task,
                                      const std::string& variant) {
  std::set<std::string> asked;
  const TaskInfo* info = registry.Find(task);
  const VariantInfo* found = info == nullptr ? nullptr : info->FindVariant(variant);
  if (found == nullptr) return asked;
  for (const PassInfo& pass : found->passes) {
    if (!pass.reference.empty()) asked.insert(pass.reference);
  }
  return asked;
}

void CheckReferences(ConfigFile& config, const Curriculum& curriculum, const RunConfig& run,
                     const Registry& registry, bool begins) {
  const FormTable forms(run);
  const std::string start(kStartReference);
  std::set<std::string> asked;
  for (const std::string& task : curriculum.Named()) {
    for (const std::string& name : AskedReferences(registry, task, forms.Own(task).settings.variant)) {
      asked.insert(name);
      if (name != start && run.references.count(name) == 0)
        config.FailAt({"references"}, "the task '" + task + "' asks for the reference '" + name +
                                          "'; add references." + name);
    }
  }
  for (const auto& [name, reference] : run.references) {
    CheckKindOf(config, name, reference);
    if (const std::string problem =
            begins && !reference.run.empty() ? RunDirectoryProblem(reference.run) : "";
        !problem.empty())
      config.FailAt({"references", name, "run"}, problem);
    if (name == start)
      config.FailAtKey({"references", name},
                       "is the weights as training finds them, which every run has; choose another name");
    else if (begins && asked.count(name) == 0)
      config.FailAtKey({"references", name}, "no task of the weights file asks for it" +
                                                 DidYouMean(name, {asked.begin(), asked.end()}) +
                                                 "; leave it out");
  }
}

}  // namespace medley
