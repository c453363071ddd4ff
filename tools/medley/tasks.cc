#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <medley/base/json_text.h>
#include <medley/base/suggest.h>
#include <medley/plugin/registry.h>
#include <medley/plugin/rejection.h>
#include <medley/plugin/task_json.h>
#include <medley/report/table.h>

#include "tools/medley/arguments.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

template <typename Items, typename Fn>
std::string Cell(const Items& items, Fn describe) {
  std::vector<std::string> texts;
  for (const auto& item : items) texts.push_back(describe(item));
  return texts.empty() ? "-" : JoinNames(texts);
}

std::string Score(const ScoreInfo& score) {
  if (score.name.empty()) return "-";
  std::string text =
      Printable(score.name) + (score.higher_is_better ? ", higher is better" : ", lower is better");
  if (score.chance) text += ", chance " + FormatNumber(*score.chance);
  return text;
}

void PrintVariant(const VariantInfo& variant) {
  std::cout << "    passes    " << Cell(variant.passes, [](const PassInfo& pass) {
    return pass.name + (pass.carries.empty() ? "" : " (carries " + Printable(JoinNames(pass.carries)) + ")");
  }) << '\n';
  std::cout << "    terms     " << Cell(variant.terms, [](const TermInfo& term) {
    return term.name + " x " + FormatNumber(term.weight);
  }) << '\n';
}

void PrintTask(const TaskInfo& task) {
  std::cout << task.name << " " << Printable(task.version)
            << (task.summary.empty() ? "" : ": " + Printable(task.summary)) << '\n';
  PrintVariant(task.variants.front());
  std::cout << "    constants " << Cell(task.constants, [](const ConstantInfo& constant) {
    return constant.name + " [" + std::to_string(constant.rows) + ", " + std::to_string(constant.width) +
           "] " + constant.dtype;
  }) << '\n';
  std::cout << "    options   " << Cell(task.options, [](const OptionInfo& option) {
    const std::string value =
        std::visit([](const auto& held) { return JsonText(nlohmann::json(held)); }, option.Default());
    return option.name + (option.kind == OptionKind::kPath ? "" : " = " + value) + " (" +
           Printable(option.Allowed()) + (option.required ? ", required)" : ")");
  }) << '\n';
  std::cout << "    score     " << Score(task.score) << '\n';
  for (std::size_t i = 1; i < task.variants.size(); ++i) {
    std::cout << "  variant " << task.variants[i].name << '\n';
    PrintVariant(task.variants[i]);
  }
}

void PrintSummary(const Registry& registry) {
  Table table({"task", "passes", "terms", "constants", "options", "plugin"});
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

void PrintForPeople(const Registry& registry) {
  PrintSummary(registry);
  for (const TaskInfo* task : registry.tasks()) {
    std::cout << '\n';
    PrintTask(*task);
  }
  if (registry.tasks().empty()) {
    std::cout << "\nNo task was found. Searched:\n";
    for (const std::filesystem::path& path : registry.searched()) std::cout << "  " << path.string() << '\n';
  }
}

}  // namespace

int RunTasks(int argc, char** argv) {
  CLI::App app("Lists every task that can be trained, without loading one.", "medley tasks");
  bool json = false;
  PluginSearch search;
  app.add_flag("--json", json, "as a JSON array of specs");
  AddPluginPath(app, search.paths);
  if (!ParseArguments(app, argc, argv)) return 0;

  const Registry registry = Registry::Scan(search);
  if (json) {
    nlohmann::ordered_json specs = nlohmann::ordered_json::array();
    for (const TaskInfo* task : registry.tasks())
      specs.push_back(TaskToJson(*task, registry.FileOf(task->name)));
    std::cout << JsonText(specs, 2) << '\n';
  } else {
    PrintForPeople(registry);
  }
  PrintRejected(registry, json ? std::cerr : std::cout);
  PrintShadowed(registry, json ? std::cerr : std::cout);
  registry.RequireNamed();
  return 0;
}

}  // namespace medley
