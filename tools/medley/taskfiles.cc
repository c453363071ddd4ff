#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include <medley/plugin/task_host.h>
#include <medley/run/data_files.h>
#include <medley/run/run.h>

#include "tools/medley/arguments.h"
#include "tools/medley/verbs.h"

namespace medley {

// Makes the tasks of a run config to which it gives files, which look through them as they do when a run
// begins. Prints nothing.
int RunTaskfiles(int argc, char** argv) {
  CLI::App app("Makes the tasks of a run that read files.", "medley taskfiles");
  std::string config;
  std::vector<std::string> overrides;
  NamedPlugins plugins;
  app.add_option("CONFIG", config)->required();
  app.add_option("KEY=VALUE", overrides);
  AddPlugins(app, plugins);
  if (!ParseArguments(app, argc, argv)) return 0;

  RunInputs inputs = CheckInputs(config, overrides, plugins);
  inputs.checked.run.device = "cpu";
  const std::unique_ptr<Run> run = BuildRun(std::move(inputs), Purpose::kSample);
  for (const Form& form : run->NamedForms()) {
    if (NamesFiles(form, run->registry->Require(form.task))) run->host->Get(form);
  }
  return 0;
}

}  // namespace medley
