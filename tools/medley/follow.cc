#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/checkpoint/run_directory.h>

#include "tools/medley/arguments.h"
#include "tools/medley/python_interpreter.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void Follow(const std::vector<std::string>& arguments, const std::string& target) {
  const fs::path script = FindInPackage("_follow/__main__.py");
  if (script.empty())
    throw InputError(
        "medley follow is written in Python, and this medley was built without its Python face. Build it "
        "with Python's headers (Debian: python3-dev)");
  const fs::path interpreter = FindInterpreter();
  if (interpreter.empty())
    throw InputError(
        "medley follow needs Python 3.10 or newer, and none is there. Install one, and into it " + target +
        " (python3 -m pip install " + target + "); MEDLEY_PYTHON may name its interpreter");
  BecomePython(interpreter, script, arguments, "medley follow");
}

}  // namespace

int RunFollow(int argc, char** argv) {
  CLI::App app(
      "Sends what a run logs to a tracker, each value once: losses, scores, memory, speed, sheets, what "
      "happened, and the config. A run that goes on is followed until it is over; Ctrl-C ends that, and the "
      "same command goes on later. Reads the run, and writes nothing into it. Runs in Python: of the "
      "interpreter that tasks in Python have, into which the tracker is installed.",
      "medley follow");
  fs::path run;
  std::string target, project, name;
  app.add_option("DIR", run, "the run's directory")->required();
  app.add_option("--to", target, "the tracker; its own environment variables say where it is")
      ->required()
      ->check(CLI::IsMember(std::vector<std::string>{"mlflow", "trackio", "wandb"}));
  app.add_option("--project", project, "its project, of MLflow the experiment; \"medley\" unless given");
  app.add_option("--name", name, "of the run there; that of its directory unless given");
  bool as_json = false;
  AddJson(app, as_json);
  if (!ParseArguments(app, argc, argv)) return 0;
  if (const std::string problem = DirectoryProblem(run); !problem.empty())
    throw InputError(problem + "; a run directory is expected");
  NewestConfig(run);
  std::vector<std::string> arguments = {fs::canonical(run).string(), "--to", target};
  if (!project.empty()) arguments.push_back("--project=" + project);
  if (!name.empty()) arguments.push_back("--name=" + name);
  if (as_json) arguments.emplace_back("--json");
  Follow(arguments, target);
}

}  // namespace medley
