#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/json_text.h>
#include <medley/base/suggest.h>
#include <medley/plugin/plugin_list.h>
#include <medley/plugin/registry.h>
#include <medley/plugin/rejection.h>
#include <medley/run/plugin_lock.h>
#include <medley/run/validate.h>

#include "tools/medley/arguments.h"
#include "tools/medley/plugins_list.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Arguments {
  std::string plugin;
  fs::path config, out;  // of lock
  NamedPlugins named;
  bool json = false, verify = false;
};

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// A file by its path; else what the search finds under the name: a whole plugin, or a task or model of one.
fs::path Find(const std::string& name, const PluginSearch& search) {
  const fs::path given = name;
  if (given.has_parent_path() || given.extension() == ".so") return fs::absolute(given);
  const PluginList list = ListPlugins(search);
  std::set<std::string> known;  // a file is often called as its task
  for (const PluginCandidate& plugin : list.candidates) {
    if (plugin.path.stem() == given) return plugin.path;
    known.insert(Printable(plugin.path.stem().string()));
  }
  for (const PluginCandidate& plugin : list.candidates) {
    if (Has(plugin.tasks, name) || Has(plugin.models, name)) return plugin.path;
    known.insert(plugin.tasks.begin(), plugin.tasks.end());
    known.insert(plugin.models.begin(), plugin.models.end());
  }
  throw InputError(NoSuchName("plugin, task or model", name, {known.begin(), known.end()}) +
                   "; a file is named with its folder or .so (medley plugins list shows all)");
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
  Named named{Registry::Scan({.paths = ConfirmOf(config, plugins)}), {}};
  named.registry.RequireNamed();
  named.checked = CheckRun(config, {}, named.registry, RunState::kBegins, std::nullopt, Locks::kIgnore);
  return named;
}

int Lock(const Arguments& arguments) {
  Json lock;
  if (arguments.config.empty()) {
    const Registry registry = Registry::Scan({.paths = arguments.named.paths});
    registry.RequireNamed();
    std::vector<const PluginFile*> files;
    for (const PluginFile& file : registry.files()) files.push_back(&file);
    lock = LockOf(files);
  } else {
    const Named named = ReadConfig(arguments.config, arguments.named);
    lock = LockOf(PluginsInUse(named.checked.curriculum.Named(), &named.checked.model->info, named.registry));
  }
  const std::string text = JsonText(lock, 2) + "\n";
  if (arguments.out.empty())
    std::cout << text;
  else
    ReplaceFile(arguments.out, text);
  return 0;
}

// The subcommands, with where their arguments go.
struct Verbs {
  CLI::App *list, *show, *lock;
};

Verbs AddVerbs(CLI::App& app, Arguments& arguments) {
  Verbs verbs{app.add_subcommand("list", "every file of the directories searched, with its state and why"),
              app.add_subcommand("show", "the tasks and models of one, and what it was built for"),
              app.add_subcommand(
                  "lock", "writes name, versions and SHA-256 of each plugin, for a run config's plugin_lock")};
  verbs.show->add_option("PLUGIN", arguments.plugin, "a file, or the name of a plugin, a task or a model")
      ->required();
  verbs.show->add_flag("--verify", arguments.verify,
                       "print nothing; say what is wrong and exit with 2 where medley refuses the file");
  verbs.lock->add_option("--config", arguments.config, "a run config: only the plugins that it uses")
      ->type_name("RUN");
  verbs.lock->add_option("--out", arguments.out, "the lock file (default: printed)")->type_name("FILE");
  AddPlugins(*verbs.lock, arguments.named);
  for (CLI::App* verb : {verbs.list, verbs.show}) {
    verb->add_flag("--json", arguments.json, "as JSON");
    AddPluginPath(*verb, arguments.named.paths);
  }
  return verbs;
}

}  // namespace

int RunPlugins(int argc, char** argv) {
  CLI::App app("Lists every plugin that is found, or shows what one says of itself.",
               "medley plugins");
  app.require_subcommand(1);
  Arguments arguments;
  const Verbs verbs = AddVerbs(app, arguments);
  if (!ParseArguments(app, argc, argv)) return 0;
  if (!arguments.out.empty()) CheckOutFile(arguments.out);
  if (*verbs.lock) return Lock(arguments);
  const PluginSearch search{.paths = arguments.named.paths};
  if (*verbs.list) return PrintPlugins(search, arguments.json);
  const fs::path file = Find(arguments.plugin, search);
  return arguments.verify ? VerifyPlugin(file) : PrintPlugin(file, arguments.json);
}

}  // namespace medley
