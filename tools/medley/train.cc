#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <medley/train/run.h>
#include <medley/train/run_directory.h>
#include <medley/train/trainer.h>

#include "tools/medley/arguments.h"
#include "tools/medley/verbs.h"

namespace medley {

int RunTrain(int argc, char** argv) {
  CLI::App app("Trains a model as a run config says. The run's directory then holds everything of it.",
               "medley train");
  std::string config, out;
  std::vector<std::string> overrides;
  std::vector<std::filesystem::path> plugin_path;
  app.add_option("CONFIG", config, "the run config")->required();
  app.add_option("KEY=VALUE", overrides, "values that replace the config's, such as steps=100");
  app.add_option("--out", out, "the run's directory (default: runs/<config>-<time>)");
  app.add_option("--plugin-path", plugin_path, "a directory with plugins, searched first; may be repeated")
      ->expected(1)
      ->take_all();
  if (!ParseArguments(app, argc, argv)) return 0;

  RunInputs inputs = CheckInputs(config, overrides, plugin_path);
  const RunDirectory directory =
      RunDirectory::Create(out.empty() ? DefaultRunPath(config) : std::filesystem::path(out));
  Console console(stdout, directory.path() / "log.txt");
  console.Say("the run lies in " + directory.path().string());
  const auto run = BuildRun(std::move(inputs), Purpose::kTrain);
  InitializeFrom(run->config.init_from, *run->model, console);
  directory.WriteRecord(RunRecord(*run));
  directory.WriteConfig(ToJson(run->config));
  Trainer trainer(*run, directory.path(), console);
  return static_cast<int>(trainer.Train());
}

}  // namespace medley
