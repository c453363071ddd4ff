#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <medley/base/json_text.h>
#include <medley/base/printable.h>
#include <medley/plugin/info_json.h>
#include <medley/plugin/registry.h>
#include <medley/report/screen.h>
#include <medley/report/table.h>

#include "tools/medley/arguments.h"
#include "tools/medley/describe.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

// As many of the words as so many columns hold.
std::string Shortened(const std::string& text, std::size_t columns) {
  if (TextWidth(text) <= columns) return text;
  constexpr std::string_view kMore = " ...";
  std::string kept;
  std::istringstream words(text);
  for (std::string word; words >> word; kept += (kept.empty() ? "" : " ") + word) {
    if (TextWidth(kept) + 1 + TextWidth(word) + kMore.size() > columns) break;
  }
  return kept + std::string(kMore);
}

std::string SummaryOf(const TaskInfo& task) { return task.summary.empty() ? "-" : Printable(task.summary); }

// A line each, however narrow the screen.
void PrintSummaries(const Registry& registry) {
  constexpr std::size_t kGap = 2, kLeast = 16;
  std::size_t names = 0;
  for (const TaskInfo* task : registry.tasks()) names = std::max(names, task->name.size());
  const std::size_t columns = ScreenColumns(), left = columns - std::min(columns, names + kGap);
  Table table({"task", "what it learns"}, 2);
  for (const TaskInfo* task : registry.tasks())
    table.Add({task->name, Shortened(SummaryOf(*task), std::max(left, kLeast))});
  std::cout << table.ToText();
}

void PrintColumns(const Registry& registry) {
  Table table(
      {"task", "what it learns", "passes", "terms", "constants", "options", "variants", "score", "plugin"},
      2);
  for (const TaskInfo* task : registry.tasks()) {
    const VariantInfo& variant = task->variants.front();
    table.Add({task->name, SummaryOf(*task), std::to_string(variant.passes.size()),
               std::to_string(variant.terms.size()), std::to_string(task->constants.size()),
               std::to_string(task->options.size()), std::to_string(task->variants.size()),
               task->score.name.empty() ? "-" : Printable(task->score.name),
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

void PrintAllTasks(const Registry& registry, bool wide) {
  wide ? PrintColumns(registry) : PrintSummaries(registry);
  if (registry.tasks().empty()) {
    std::cout << "\nNo task was found. Searched:\n";
    for (const std::filesystem::path& path : registry.searched())
      std::cout << "  " << Printable(path.string()) << '\n';
  } else {
    std::cout << Prose("\nmedley tasks TASK says all of one: passes, losses, score, variants, options" +
                       std::string(wide ? "" : "; --wide: their numbers, and the plugins") + "\n");
  }
}

void PrintOne(const Registry& registry, const std::string& name, bool json) {
  const TaskInfo& task = registry.Require(name);
  const PluginFile& file = registry.FileOf(name);
  if (json) {
    std::cout << JsonText(TaskToJson(task, file), 2) << '\n';
    return;
  }
  PrintTask(task, Printable(file.path.string()));
}

}  // namespace

int RunTasks(int argc, char** argv) {
  CLI::App app("Says what every task that can be trained learns, or all of one, without loading any.",
               "medley tasks");
  std::string name;
  bool json = false;
  PluginSearch search;
  app.add_option("TASK", name, "a task: everything that its plugin says of it");
  app.add_flag("--json", json, "as a JSON array of specs, or as the one spec");
  AddPluginPath(app, search.paths);
  const CLI::Option* wide =
      AddWide(app)->description("how many passes, terms, options each has, and its plugin");
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
    PrintAllTasks(registry, wide->count() > 0);
  }
  PrintRejected(registry, json ? std::cerr : std::cout);
  PrintShadowed(registry, json ? std::cerr : std::cout);
  registry.RequireNamed();
  return 0;
}

}  // namespace medley
