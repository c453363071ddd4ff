#include "tools/medley/plugins_list.h"

#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/json_text.h>
#include <medley/base/printable.h>
#include <medley/base/suggest.h>
#include <medley/plugin/info_json.h>
#include <medley/plugin/plugin_list.h>
#include <medley/report/table.h>

#include "tools/medley/describe.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

bool Usable(const PluginCandidate& plugin) {
  return plugin.state == "ok" || plugin.state == "shadowed" || plugin.state == "same file";
}

std::string Gives(const PluginCandidate& plugin) {
  std::vector<std::string> names = plugin.tasks;
  for (const std::string& model : plugin.models) names.push_back("model " + model);
  return names.empty() ? "-" : JoinNames(names);
}

void PrintAsJson(const PluginList& list) {
  Json json{{"searched", Json::array()}, {"plugins", Json::array()}};
  for (const fs::path& path : list.searched) json["searched"].push_back(path.string());
  for (const PluginCandidate& plugin : list.candidates) {
    json["plugins"].push_back({{"path", plugin.path.string()},
                               {"state", plugin.state},
                               {"reason", plugin.reason},
                               {"tasks", plugin.tasks},
                               {"models", plugin.models}});
  }
  std::cout << JsonText(json, 2) << '\n';
}

// A table for each directory: paths are long.
void PrintForPeople(const PluginList& list) {
  std::vector<std::pair<fs::path, Table>> tables;
  std::string reasons;
  for (const PluginCandidate& plugin : list.candidates) {
    const fs::path directory = plugin.path.parent_path();
    if (tables.empty() || tables.back().first != directory)
      tables.emplace_back(directory, Table({"plugin", "state", "gives"}, 3)).second.Breaks("gives");
    tables.back().second.Add({Printable(plugin.path.filename().string()), plugin.state, Gives(plugin)});
    if (!plugin.reason.empty())
      reasons += Printable(plugin.path.string()) + " (" + plugin.state + "): " + plugin.reason + '\n';
  }
  for (const auto& [directory, table] : tables)
    std::cout << Printable(directory.string()) << ":\n" << table.ToText() << '\n';
  if (!reasons.empty()) std::cout << reasons << '\n';
  std::cout << "Searched; the first that has a name gives it:\n";
  for (const fs::path& path : list.searched) std::cout << "  " << Printable(path.string()) << '\n';
}

Json ToJson(const AbiInfo& abi) {
  return {{"kind", abi.kind},
          {"api", abi.api},
          {"medley", abi.medley},
          {"headers", abi.headers},
          {"torch", abi.torch},
          {"cxx11_abi", abi.cxx11},
          {"standard_library", abi.standard_library},
          {"pointer_bytes", abi.pointer},
          {"glibcxx_debug", abi.glibcxx_debug},
          {"sanitizer", abi.sanitizer},
          {"compiler", abi.compiler}};
}

void PrintAsJson(const PluginAccount& account) {
  Json json{{"path", account.file.path.string()},
            {"state", account.state},
            {"reason", account.reason},
            {"build_id", account.file.build_id},
            {"abi", ToJson(account.abi)},
            {"tasks", Json::array()},
            {"models", Json::array()}};
  for (const TaskInfo& task : account.file.tasks) json["tasks"].push_back(TaskToJson(task, account.file));
  for (const ModelInfo& model : account.file.models) {
    Json spec = ModelToJson(model, Registry());
    spec["plugin"] = account.file.path.string();
    json["models"].push_back(std::move(spec));
  }
  std::cout << JsonText(json, 2) << '\n';
}

void PrintForPeople(const PluginAccount& account) {
  const AbiInfo& abi = account.abi;
  std::cout << Printable(account.file.path.string()) << ": " << account.state
            << (account.reason.empty() ? "" : ": " + account.reason) << '\n';
  if (account.file.is_python)
    std::cout << "    a file of Python: nothing is built; it runs where a run names a task of it\n"
              << "    build id  " << account.file.build_id << '\n';
  else
    std::cout << "    built for medley " << Printable(abi.medley) << " (plugin API " << abi.api
              << ", headers " << Printable(abi.headers) << "), libtorch " << Printable(abi.torch) << '\n'
              << "    built by  " << Printable(abi.compiler) << ", " << Printable(abi.standard_library)
              << (abi.sanitizer == "none" ? "" : ", sanitizer " + Printable(abi.sanitizer)) << '\n'
              << "    build id  " << (account.file.build_id.empty() ? "-" : account.file.build_id) << '\n';
  for (const TaskInfo& task : account.file.tasks) {
    std::cout << "\ntask ";
    PrintTask(task);
  }
  for (const ModelInfo& model : account.file.models) {
    std::cout << "\nmodel ";
    PrintModel(model, account.file.path.stem().string());
  }
}

}  // namespace

int PrintPlugins(const PluginSearch& search, bool json) {
  const PluginList list = ListPlugins(search);
  json ? PrintAsJson(list) : PrintForPeople(list);
  for (const PluginCandidate& plugin : list.candidates) {
    if (plugin.named && !Usable(plugin)) return static_cast<int>(ExitCode::kBadInput);
  }
  return 0;
}

int PrintPlugin(const fs::path& path, bool json) {
  const PluginAccount account = ReadPluginAccount(path);
  json ? PrintAsJson(account) : PrintForPeople(account);
  return 0;
}

int VerifyPlugin(const fs::path& path) {
  const PluginAccount account = ReadPluginAccount(path);
  if (account.state == "ok") return 0;
  const std::string words =
      Printable(account.file.path.string()) + " (" + account.state + "): " + account.reason;
  if (account.state != "bad permissions") throw InputError(words);
  std::cerr << "medley would not load it where it lies: " << words << '\n';
  return 0;
}

}  // namespace medley
