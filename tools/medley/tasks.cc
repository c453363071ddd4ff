#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <medley/base/json_text.h>
#include <medley/plugin/info_json.h>
#include <medley/plugin/registry.h>
#include <medley/plugin/rejection.h>
#include <medley/report/table.h>

#include "tools/medley/arguments.h"
#include "tools/medley/describe.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

void PrintSummary(const Registry& registry) {
  Table table({"task", "passes", "terms", "constants", "options", "plugin"});
  table.Spares({"constants", "terms", "options"});
  for (const TaskInfo* task : registry.tasks()) {
    const VariantInfo& variant = task->variants.front();
    table.Add({task->name, std::to_string(variant.passes.size()), std::to_string(variant.terms.size()),
               std::to_string(task->constants.size()), std::to_string(task->options.size()),
               registry.FileOf(task->name).path.stem().string()});
  }
  std::cout << table.ToText();
}

void PrintRejected(const Registry& registry, std::ostream& out) {
  if (registry.rejected().empty()) return;
  out << "\nNot used:\n";
  for (const RejectedPlugin& file : registry.rejected()) {
    out << "  " << Printable(file.path.string()) << " (" << file.state << "): " << file.reason << '\n';
  }
}

void PrintShadowed(const Registry& registry, std::ostream& out) {
  if (registry.shadowed().empty()) return;
  out << "\nIn more than one plugin:\n";
  for (const ShadowedTask& task : registry.shadowed()) {
    out << "  " << task.task << ": " << Printable(task.used.string()) << " is used, not "
        << Printable(task.other.string()) << '\n';
  }
}

void PrintAllTasks(const Registry& registry) {
  PrintSummary(registry);
  if (registry.tasks().empty()) {
    std::cout << "\nNo task was found. Searched:\n";
    for (const std::filesystem::path& path : registry.searched())
      std::cout << "  " << Printable(path.string()) << '\n';
  } else {
    std::cout << "\nmedley tasks TASK says all of one.\n";
  }
}

void PrintOne(const Registry& registry, const std::string& name, bool json) {
  const TaskInfo& task = registry.Require(name);
  const PluginFile& file = registry.FileOf(name);
  if (json) {
    std::cout << JsonText(TaskToJson(task, file), 2) << '\n';
    return;
  }
  PrintTask(task);
  std::cout << "    plugin     " << Printable(file.path.string()) << '\n';
}

}  // namespace

int RunTasks(int argc, char** argv) {
  CLI::App app("Lists every task that can be trained, or says all of one, without loading any.",
               "medley tasks");
  std::string name;
  bool json = false;
  PluginSearch search;
  app.add_option("TASK", name, "a task: everything that its plugin says of it");
  app.add_flag("--json", json, "as a JSON array of specs, or as the one spec");
  AddPluginPath(app, search.paths);
  AddWide(app);
  if (!ParseArguments(app, argc, argv)) return 0;

  const Registry registry = Registry::Scan(search);
  if (!name.empty()) {
    registry.RequireNamed();
    PrintOne(registry, name, json);
    return 0;
  }
  if (json) {
    nlohmann::ordered_json specs = nlohmann::ordered_json::array();
    for (const TaskInfo* task : registry.tasks())
      specs.push_back(TaskToJson(*task, registry.FileOf(task->name)));
    std::cout << JsonText(specs, 2) << '\n';
  } else {
    PrintAllTasks(registry);
  }
  PrintRejected(registry, json ? std::cerr : std::cout);
  PrintShadowed(registry, json ? std::cerr : std::cout);
  registry.RequireNamed();
  return 0;
}

}  // namespace medley
