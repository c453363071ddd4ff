#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <string>

#include <medley/base/files.h>
#include <medley/checkpoint/checkpoint_files.h>
#include <medley/run/export.h>
#include <medley/run/run.h>

#include "tools/medley/arguments.h"
#include "tools/medley/verbs.h"

namespace medley {

int RunExport(int argc, char** argv) {
  CLI::App app(
      "Writes a run's model as a Hugging Face folder: its language as transformers opens it, and beside it, "
      "in "
      "medley_image.safetensors, what only medley knows. A model file may name that folder as "
      "\"pretrained\".",
      "medley export");
  std::filesystem::path directory, out;
  app.add_option("DIR", directory,
                 "a run's directory, of which the newest checkpoint is taken, or a checkpoint's")
      ->required();
  app.add_option("--out", out, "the folder; new, or empty")->required();
  NamedPlugins plugins;
  AddPlugins(app, plugins);
  if (!ParseArguments(app, argc, argv)) return 0;

  Console console(stderr);
  directory = std::filesystem::weakly_canonical(directory);
  const bool is_checkpoint = StepOfName(directory.filename().string()) >= 0;
  const TrainedRun trained = is_checkpoint ? OpenCheckpoint(directory, console, "cpu", plugins)
                                           : OpenTrainedRun(directory, console, "cpu", plugins);
  ExportRun(*trained.run, out);
  console.Say("wrote step " + std::to_string(trained.step) + " to " + DisplayPath(out));
  return 0;
}

}  // namespace medley
