#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/suggest.h>
#include <medley/plugin/plugin_list.h>
#include <medley/plugin/registry.h>
#include <medley/plugin/rejection.h>

#include "tools/medley/arguments.h"
#include "tools/medley/plugins_list.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  std::string plugin;
  PluginSearch search;
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

// The subcommands, with where their arguments go.
struct Verbs {
  CLI::App *list, *show;
};

Verbs AddVerbs(CLI::App& app, Arguments& arguments) {
  Verbs verbs{app.add_subcommand("list", "every file of the directories searched, with its state and why"),
              app.add_subcommand("show", "the tasks and models of one, and what it was built for")};
  verbs.show->add_option("PLUGIN", arguments.plugin, "a file, or the name of a plugin, a task or a model")
      ->required();
  verbs.show->add_flag("--verify", arguments.verify,
                       "print nothing; say what is wrong and exit with 2 where medley refuses the file");
  for (CLI::App* verb : {verbs.list, verbs.show}) {
    verb->add_flag("--json", arguments.json, "as JSON");
    AddPluginPath(*verb, arguments.search.paths);
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
  if (*verbs.list) return PrintPlugins(arguments.search, arguments.json);
  const fs::path file = Find(arguments.plugin, arguments.search);
  return arguments.verify ? VerifyPlugin(file) : PrintPlugin(file, arguments.json);
}

}  // namespace medley
