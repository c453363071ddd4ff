// The hidden verb behind `medley plugins check`: one task or model, in a process of its own, which may die.
#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/version.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/plugin/model_file.h>
#include <medley/plugin/model_maker.h>
#include <medley/plugin/plugin_library.h>
#include <medley/plugin/python_host.h>
#include <medley/run/run.h>
#include <medley/testing/checks.h>
#include <medley/text/load_tokenizer.h>

#include "tools/medley/arguments.h"
#include "tools/medley/check_task.h"
#include "tools/medley/task_inputs.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

namespace fs = std::filesystem;

struct Subject {
  std::string task, model;  // one of them
  fs::path file;
  fs::path config;   // "": plugin.json and a model that fits
  fs::path scratch;  // an empty directory
  NamedPlugins named;

  std::vector<fs::path> Paths() const {
    std::vector<fs::path> paths = {file};
    paths.insert(paths.end(), named.paths.begin(), named.paths.end());
    return paths;
  }
  NamedPlugins Plugins() const {
    return {.paths = Paths(), .allow_config = named.allow_config, .remember = false};
  }
};

// One thread: the rows are few, and threads that wait for each other are slow beside a build.
std::vector<std::string> Here() { return {"device=cpu", "threads=1"}; }

// With its own weights where they name the task: its stages may give it other settings.
RunInputs InputsOfConfig(const Subject& subject) {
  RunInputs inputs = CheckInputs(subject.config, Here(), subject.Plugins());
  const std::vector<std::string> named = inputs.checked.curriculum.Named();
  if (std::find(named.begin(), named.end(), subject.task) != named.end()) return inputs;
  std::vector<std::string> overrides = Here();
  overrides.push_back(WeightsOfTask(subject.scratch, subject.task));
  return CheckInputs(subject.config, overrides, subject.Plugins());
}

// A run of this task alone, which is put together and never trained.
std::unique_ptr<Run> MakeRun(const Subject& subject, const TaskInfo& task, const Registry& registry,
                             const CheckReport& report) {
  RunInputs inputs = subject.config.empty()
                         ? InputsOfTask(task.name, registry, subject.scratch, subject.Plugins(), Here())
                         : InputsOfConfig(subject);
  report.Model(inputs.checked.model->info.name);
  report.Phase("making the model");
  return BuildRun(std::move(inputs), Purpose::kUse);
}

void CheckTask(const Subject& subject, const Registry& registry, const CheckReport& report) {
  const TaskInfo& task = registry.Require(subject.task);
  const auto run = MakeRun(subject, task, registry, report);
  CheckForms(*run, task, report);
  report.Phase("exit");
  report.End("ok", "");
}

// A model that no task was checked with, as the config has it where that is of its kind.
void CheckModel(const Subject& subject, const Registry& registry, const CheckReport& report) {
  const fs::path config =
      subject.config.empty() ? ConfigDirectory() / "runs" / "plugin.json" : subject.config;
  const RunConfig run = ReadRunConfig(config);
  ModelFile file = ReadModelFile(run.model, registry);
  if (file.info.name != subject.model)
    file = ReadModelFile(ModelOfKind(subject.scratch, subject.model), registry);
  std::unique_ptr<Tokenizer> tokenizer;
  if (file.info.tokenizer) tokenizer = LoadTokenizer(run.tokenizer, run.special_tokens);
  report.Phase("making the model");
  const auto made = MakeModel(file, registry, tokenizer.get(), 0);
  report.Phase("contract");
  std::vector<std::string> not_judged;
  RefuseFindings(check::ModelContract(*made, file.config, &not_judged));
  for (const std::string& what : not_judged) report.NotJudged(what);
  report.Phase("exit");
  report.End("ok", "");
}

void Check(const Subject& subject, const CheckReport& report) {
  report.Phase("scan");
  const Registry registry = ScanFor(subject.config, {}, subject.Paths());
  report.Phase("load");
  if (registry.files().front().is_python)
    RequirePythonHost(registry.files().front()).Prepare(registry.files().front());
  InstallCpuAllocator();
  PluginLibrary::Load(registry.files().front());
  report.Phase("config");
  if (subject.model.empty())
    CheckTask(subject, registry, report);
  else
    CheckModel(subject, registry, report);
}

}  // namespace

int RunCheck(int argc, char** argv) {
  CLI::App app("Checks one task or model in this process; medley plugins check calls it.", "medley check");
  Subject subject;
  int fd = STDERR_FILENO;
  app.add_option("FILE", subject.file)->required();
  app.add_option("--task", subject.task);
  app.add_option("--model", subject.model);
  app.add_option("--config", subject.config);
  app.add_option("--scratch", subject.scratch)->required();
  app.add_option("--report", fd);
  AddPlugins(app, subject.named);
  if (!ParseArguments(app, argc, argv)) return 0;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // what hangs does not outlive who watches it
  const CheckReport report(fd);
  try {
    Check(subject, report);
  } catch (const NeedsConfig& needs) {
    report.End("needs a config", needs.why);
  } catch (const c10::Error& error) {
    report.End("failed", error.what_without_backtrace());
  } catch (const std::exception& error) {
    report.End("failed", error.what());
  }
  return 0;
}

}  // namespace medley
