#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_text.h>
#include <medley/base/printable.h>
#include <medley/base/suggest.h>
#include <medley/plugin/plugin_list.h>
#include <medley/plugin/python_file.h>
#include <medley/plugin/registry.h>
#include <medley/run/plugin_lock.h>
#include <medley/run/validate.h>

#include "tools/medley/arguments.h"
#include "tools/medley/output.h"
#include "tools/medley/plugins_check.h"
#include "tools/medley/plugins_list.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Arguments {
  std::vector<std::string> plugins;
  PluginCheck check;
  double seconds = 60;
  OutputFileOption lock{OutputKind::kLock};
  bool json = false, verify = false;
};

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// A file by its path; else what the search finds under the name: a whole plugin, or a task or model of one.
PluginToCheck Find(const std::string& name, const PluginSearch& search) {
  const fs::path given = name;
  if (fs::is_directory(given) && (given.has_parent_path() || given == "." || given == ".."))
    throw InputError(DisplayPath(given) + " is a directory; name it by --plugin-path " + Printable(name) +
                     ", or one of its files");
  if (given.has_parent_path() || given.extension() == ".so" || IsPythonFile(given))
    return {fs::absolute(given)};
  const PluginList list = ListPlugins(search);
  std::set<std::string> known;  // a file is often called as its task
  std::string missing;
  for (const PluginCandidate& plugin : list.candidates) {
    if (plugin.state == "missing") {
      missing += "; " + Printable(plugin.path.string()) + " is missing";
      continue;
    }
    if (plugin.path.stem() == given) return {plugin.path};
    known.insert(Printable(plugin.path.stem().string()));
  }
  for (const PluginCandidate& plugin : list.candidates) {
    if (Has(plugin.tasks, name)) return {plugin.path, name};
    if (Has(plugin.models, name)) return {plugin.path};
    known.insert(plugin.tasks.begin(), plugin.tasks.end());
    known.insert(plugin.models.begin(), plugin.models.end());
  }
  throw InputError(NoSuchName("plugin, task or model", name, {known.begin(), known.end()}) +
                   "; a file is named with its folder, .so or .py (medley plugins list shows all)" + missing);
}

// The same, also by a further name that the config has for a task.
PluginToCheck FindFor(const fs::path& config, const PluginSearch& search, const std::string& name) {
  if (!config.empty()) {
    const Registry registry = ScanFor(config, {}, search.paths);
    if (registry.Find(name) != nullptr && !registry.IsKind(name))
      return {registry.FileOf(name).path, name, registry.KindOf(name)};
  }
  return Find(name, search);
}

// What a run config names, read and not loaded. A lock does not count: it may be about to be made anew.
struct Named {
  Registry registry;
  CheckedRun checked;
};

std::vector<fs::path> ConfirmOf(const fs::path& config, const NamedPlugins& plugins) {
  return ConfirmPlugins(plugins, config, PluginPaths(config, {}));
}

Named ReadConfig(const fs::path& config, const NamedPlugins& plugins) {
  Named named{ScanFor(config, {}, ConfirmOf(config, plugins)), {}};
  named.checked = CheckRun(config, {}, named.registry, RunAge::kBegins, std::nullopt, Locks::kIgnore);
  return named;
}

int Lock(const Arguments& arguments) {
  Json lock;
  if (arguments.check.config.empty()) {
    const Registry registry = Registry::Scan({.paths = arguments.check.named.paths});
    registry.RequireNamed();
    std::vector<const PluginFile*> files;
    for (const PluginFile& file : registry.files()) files.push_back(&file);
    lock = LockOf(files);
  } else {
    const Named named = ReadConfig(arguments.check.config, arguments.check.named);
    lock = LockOf(PluginsInUse(named.checked.curriculum.Named(), &named.checked.model->info, named.registry));
  }
  const std::string text = JsonText(lock, 2) + "\n";
  if (arguments.lock.is_named())
    arguments.lock.Write(text);
  else
    std::cout << text;
  return 0;
}

// Where none is named: the tasks of the config, or all that the search finds.
std::vector<PluginToCheck> PluginsToCheck(const Arguments& arguments) {
  const PluginCheck& check = arguments.check;
  // A config's are confirmed here, once, and not in each child.
  const PluginSearch search{.paths = check.config.empty() ? check.named.paths
                                                          : ConfirmOf(check.config, check.named)};
  std::vector<PluginToCheck> plugins;
  for (const std::string& plugin : arguments.plugins)
    plugins.push_back(FindFor(check.config, search, plugin));
  if (!plugins.empty()) return plugins;
  if (!check.config.empty()) {
    const Named named = ReadConfig(check.config, check.named);
    for (const std::string& task : named.checked.curriculum.Named())
      plugins.push_back({named.registry.FileOf(task).path, task, named.registry.KindOf(task)});
    return plugins;
  }
  for (const PluginCandidate& plugin : ListPlugins(search).candidates) {
    const bool is_used = plugin.state != "shadowed" && plugin.state != "same file";
    if (is_used && plugin.state != "not a plugin") plugins.push_back({plugin.path});
  }
  return plugins;
}

// What a child is told: the files that can be used. One that cannot is its own result, and nobody else's.
std::vector<fs::path> UsableFiles(const std::vector<fs::path>& named) {
  std::vector<fs::path> files;
  for (const PluginCandidate& plugin : ListPlugins({named, false, false, false}).candidates) {
    if (plugin.state == "ok") files.push_back(plugin.path);
  }
  return files;
}

int Check(Arguments& arguments) {
  PluginCheck& check = arguments.check;
  check.plugins = PluginsToCheck(arguments);
  check.named.paths = UsableFiles(check.named.paths);
  check.named.allow_config = true;  // what the config names was confirmed just now
  if (check.plugins.empty())
    throw InputError("no plugin was found to check; name a file, or a directory by --plugin-path");
  check.limit = std::chrono::milliseconds(static_cast<std::int64_t>(arguments.seconds * 1000));
  bool failed = false, needs_a_config = false;
  Json list = Json::array();
  CheckPlugins(check, [&](const CheckResult& result) {
    needs_a_config = needs_a_config || result.state == "needs a config";
    failed = failed || (result.state != "ok" && result.state != "needs a config");
    if (arguments.json)
      list.push_back(result.ToJson());
    else
      std::cout << result.Words() << std::endl;  // the next one may take a minute
  });
  if (arguments.json) std::cout << JsonText(list, 2) << '\n';
  if (failed) return static_cast<int>(ExitCode::kFailed);
  return static_cast<int>(needs_a_config ? ExitCode::kSomethingDropped : ExitCode::kDone);
}

// The subcommands, with where their arguments go.
struct Verbs {
  CLI::App *list, *show, *check, *lock;
};

void AddCheck(CLI::App& check, Arguments& arguments) {
  check.add_option("PLUGIN", arguments.plugins,
                   "files, or names of plugins, tasks or models (default: the config's tasks, else all)");
  check.add_option("--config", arguments.check.config, "a run config: gives the model and the options")
      ->type_name("RUN");
  check.add_option("--seconds", arguments.seconds, "of a task, at most")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str();
}

Verbs AddVerbs(CLI::App& app, Arguments& arguments) {
  Verbs verbs{
      app.add_subcommand("list", "every file of the directories searched, with its state and why"),
      app.add_subcommand("show", "the tasks and models of one, and what it was built for"),
      app.add_subcommand(
          "check",
          "runs tasks, each in a process of its own: does it load, keep its spec, step, score? "
          "Exit code 3: what was checked is right, but some need a config"),
      app.add_subcommand("lock",
                         "writes name, versions and SHA-256 of each plugin, for a run config's plugin_lock")};
  verbs.show->add_option("PLUGIN", arguments.plugins, "a file, or the name of a plugin, a task or a model")
      ->expected(1)
      ->required();
  verbs.show->add_flag("--verify", arguments.verify,
                       "print nothing; say what is wrong and exit with 2 where medley refuses the file");
  AddCheck(*verbs.check, arguments);
  verbs.lock->add_option("--config", arguments.check.config, "a run config: only the plugins that it uses")
      ->type_name("RUN");
  arguments.lock.AddTo(*verbs.lock, "--out", "the lock file (default: printed)");
  for (CLI::App* verb : {verbs.list, verbs.show, verbs.check})
    verb->add_flag("--json", arguments.json, "as JSON");
  for (CLI::App* verb : {verbs.check, verbs.lock}) AddPlugins(*verb, arguments.check.named);
  for (CLI::App* verb : {verbs.list, verbs.show}) AddPluginPath(*verb, arguments.check.named.paths);
  return verbs;
}

}  // namespace

int RunPlugins(int argc, char** argv) {
  CLI::App app("Lists every plugin that is found, shows what one says of itself, or tries what it does.",
               "medley plugins");
  app.require_subcommand(1);
  Arguments arguments;
  const Verbs verbs = AddVerbs(app, arguments);
  if (!ParseArguments(app, argc, argv)) return 0;
  if (arguments.lock.is_named()) arguments.lock.Check();
  if (*verbs.lock) return Lock(arguments);
  if (*verbs.check) return Check(arguments);
  const PluginSearch search{.paths = arguments.check.named.paths};
  if (*verbs.list) return PrintPlugins(search, arguments.json);
  const fs::path file = Find(arguments.plugins.front(), search).file;
  return arguments.verify ? VerifyPlugin(file) : PrintPlugin(file, arguments.json);
}

}  // namespace medley
