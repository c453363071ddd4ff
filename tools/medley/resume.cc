#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

#include <medley/checkpoint/run_directory.h>
#include <medley/config/field.h>
#include <medley/session/session.h>

#include "tools/medley/arguments.h"
#include "tools/medley/join.h"
#include "tools/medley/run_end.h"
#include "tools/medley/verbs.h"

namespace medley {

namespace {

// "" where there is none, which a resume says.
std::filesystem::path ConfigOf(const std::filesystem::path& run) try {
  return NewestConfig(run);
} catch (const Error&) {
  return "";
}

}  // namespace

int RunResume(int argc, char** argv) {
  CLI::App app(
      "Goes on with a run from its newest whole checkpoint, or from an older one; for more steps or hours "
      "than "
      "its decay was for, from the one behind which its learning rate fell. KEY=VALUE replaces what may "
      "change: steps, hours, optimizer, checkpoint, eval, data, threads, budget and the like; the seed and "
      "what decides "
      "rows may not.",
      "medley resume");
  std::filesystem::path path;
  std::int64_t steps = 0;
  app.add_option("DIR", path, "the run's directory")->required();
  app.add_option("--steps", steps, "steps in all, instead of the config's")
      ->check(WholeNumber(1, static_cast<std::int64_t>(kLargestInteger)));
  ResumeRequest request;
  app.add_option("KEY=VALUE", request.overrides,
                 "values that replace the run's, such as optimizer.learning_rate=1e-4");
  app.add_option(
         "--allow-changed", request.allow_changed,
         "a file or folder that the run is made from, such as a task's data, that was mended: the run goes "
         "on with what it is now, and writes that down")
      ->type_name("FILE")
      ->allow_extra_args(false);  // the arguments behind it are the config's
  app.add_option("--from", request.from, "the step of the checkpoint to go on from; newer ones are renamed")
      ->type_name("STEP")
      ->check(WholeNumber(0, static_cast<std::int64_t>(kLargestInteger)));
  std::string budget;
  AddBudget(app, budget);
  AddPlugins(app, request.plugins);
  AddOnEvent(app, request.allow_on_event);
  AddWide(app)->description("show all columns of tables, and the tables of the plan");
  if (!ParseArguments(app, argc, argv)) return 0;
  std::signal(SIGPIPE, SIG_IGN);  // a run outlives whoever reads its lines
  if (!budget.empty()) request.overrides.push_back("budget=" + budget);
  if (steps > 0) request.overrides.push_back("steps=" + std::to_string(steps));
  return RunTraining({argv, argv + argc}, [&] {
    request.cluster = JoinCluster({.directory = path,
                                   .config = ConfigOf(path),
                                   .overrides = request.overrides,
                                   .plugins = request.plugins,
                                   .begins = false});
    Console console(OutputOf(*request.cluster));
    const ExitCode code = Session::Resume(path, request, console).Train();
    if (request.cluster->is_first()) SayWhatIsNext(path, code, console);
    return code;
  });
}

}  // namespace medley
