#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <medley/checkpoint/run_directory.h>
#include <medley/session/session.h>

#include "tools/medley/arguments.h"
#include "tools/medley/join.h"
#include "tools/medley/output.h"
#include "tools/medley/run_end.h"
#include "tools/medley/verbs.h"

namespace medley {

int RunTrain(int argc, char** argv) {
  CLI::App app("Trains a model as a run config says. The run's directory then holds everything of it.",
               "medley train");
  BeginRequest request;
  std::string budget, replayed;
  NewFolderOption out;
  app.add_option("CONFIG", request.config, "the run config")->required();
  app.add_option("KEY=VALUE", request.overrides, "values that replace the config's, such as steps=100");
  out.AddTo(app, "--out", "the run's directory (default: runs/<config>-<time>)");
  AddBudget(app, budget);
  app.add_option("--profile", request.profile,
                 "profile.json of medley plan or of another run: what it holds is not measured again");
  app.add_option(
      "--replay", replayed,
      "the directory of a run that began with this config: repeats it, with the edits of its weights, "
      "its early decay and what its resumes changed, to the same metrics.jsonl");
  app.add_option(
         "--allow-missing", request.allow_missing,
         "patterns of parameters that the weights of a pretrained model may lack; beside those of the "
         "config's allow_missing")
      ->type_name("PATTERN")
      ->allow_extra_args(false);  // the arguments behind it are the config's
  app.add_option("--allow-unexpected", request.allow_unexpected,
                 "patterns of tensors that the weights of a pretrained model may have and the model has not: "
                 "they are "
                 "left aside; beside those of the config's allow_unexpected")
      ->type_name("PATTERN")
      ->allow_extra_args(false);
  std::int64_t allow_new_rows = -1;
  app.add_option(
         "--allow-new-rows", allow_new_rows,
         "how many tokens of the vocabulary a pretrained model may not know, beside those that medley adds; "
         "instead of the config's allow_new_rows")
      ->type_name("N")
      ->check(WholeNumber(0, 1 << 24));
  bool allow_unknown_vocabulary = false;
  app.add_flag("--allow-unknown-vocabulary", allow_unknown_vocabulary,
               "begin with the weights of a pretrained model that come without a tokenizer which medley can "
               "compare the vocabulary with; as the config's allow_unknown_vocabulary");
  AddPlugins(app, request.plugins);
  AddOnEvent(app, request.allow_on_event);
  AddWide(app)->description("show all columns of tables, and the tables of the plan");
  if (!ParseArguments(app, argc, argv)) return 0;
  std::signal(SIGPIPE, SIG_IGN);  // a run outlives whoever reads its lines
  if (!budget.empty()) request.overrides.push_back("budget=" + budget);
  if (allow_new_rows >= 0) request.overrides.push_back("allow_new_rows=" + std::to_string(allow_new_rows));
  if (allow_unknown_vocabulary) request.overrides.emplace_back("allow_unknown_vocabulary=true");

  return RunTraining({argv, argv + argc}, [&] {
    request.cluster = JoinCluster({.directory = out.is_named() ? out.path() : "",
                                   .config = request.config,
                                   .overrides = request.overrides,
                                   .plugins = request.plugins});
    Cluster& cluster = *request.cluster;
    const std::filesystem::path path =
        SharedPath(cluster, out.is_named() ? out.path() : DefaultRunPath(request.config));
    out.Name(path);
    if (cluster.is_first()) out.Check();
    Console console(OutputOf(cluster));
    const ExitCode code = replayed.empty() ? Session::Begin(request, path, console).Train()
                                           : Session::Replay(replayed, request, path, console);
    if (cluster.is_first()) SayWhatIsNext(path, code, console);
    return code;
  });
}

}  // namespace medley
