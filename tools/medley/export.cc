#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <string>

#include <medley/base/files.h>
#include <medley/run/export.h>
#include <medley/run/export_config.h>
#include <medley/run/run.h>

#include "tools/medley/arguments.h"
#include "tools/medley/output.h"
#include "tools/medley/verbs.h"

namespace medley {

int RunExport(int argc, char** argv) {
  CLI::App app(
      "Writes a run's model as a Hugging Face folder: its language as transformers opens it, and beside it, "
      "in medley_image.safetensors, what only medley knows. A model file may name that folder as "
      "\"pretrained\". A model without a language, as a classifier, is written as parameters, names of "
      "classes and model.py, which opens them in plain torch; python model.py --check compares four rows.",
      "medley export");
  std::filesystem::path directory;
  NewFolderOption out;
  app.add_option("DIR", directory,
                 "a run's directory, of which the newest checkpoint is taken, or a checkpoint's")
      ->required();
  out.AddTo(app, "--out", "the folder; new, or empty")->required();
  bool adapter = false;
  app.add_flag(
      "--adapter", adapter,
      "the run's adapters alone, as a folder of PEFT's for the one that its language came from; without "
      "it they are merged into the model");
  bool raw = false;
  AddRawWeights(app, raw);
  NamedPlugins plugins;
  AddPlugins(app, plugins);
  if (!ParseArguments(app, argc, argv)) return 0;
  const SavedWeights kind = raw ? SavedWeights::kTrained : SavedWeights::kAveraged;
  out.Check();
  RequireFreeForExport(out.path());

  Console console(stderr);
  directory = std::filesystem::weakly_canonical(directory);
  const TrainedRun trained = OpenForExport(directory, console, plugins, kind);
  std::string missing;
  if (adapter)
    ExportAdapters(*trained.run, out.path());
  else
    missing = ExportRun(*trained.run, out.path());
  console.Say((trained.averaged ? "wrote the averaged parameters of step " : "wrote step ") +
              std::to_string(trained.step) + " to " + DisplayPath(out.path()));
  if (!missing.empty()) console.Warn(missing);
  if (const std::string words = adapter ? "" : WordsOfKeptIds(*trained.run); !words.empty())
    console.Warn(words);
  return 0;
}

}  // namespace medley
