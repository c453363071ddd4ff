#include <ATen/core/Tensor.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <medley/base/bytes.h>
#include <medley/base/json_text.h>
#include <medley/base/printable.h>
#include <medley/estimate/advice.h>
#include <medley/estimate/estimate.h>
#include <medley/estimate/estimated_run.h>
#include <medley/estimate/gpu_fit.h>
#include <medley/estimate/gpu_verdict.h>
#include <medley/memory/budget.h>
#include <medley/memory/host_memory.h>
#include <medley/memory/meter.h>
#include <medley/plan/plan_refusal.h>
#include <medley/report/screen.h>
#include <medley/report/table.h>
#include <medley/run/published_files.h>
#include <medley/run/run.h>
#include <medley/run/run_references.h>

#include "tools/medley/arguments.h"
#include "tools/medley/estimate_account.h"
#include "tools/medley/estimate_check.h"
#include "tools/medley/estimate_gpus.h"
#include "tools/medley/estimates.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

using nlohmann::ordered_json;

std::string Describe(const Gpu& gpu) {
  return gpu.name + " (" + FormatBytes(gpu.memory) + "; " + FormatBytes(gpu.usable()) +
         " for tensors after context " + FormatBytes(gpu.context) + ", workspaces " +
         FormatBytes(gpu.workspace) + " and a margin of " + FormatBytes(gpu.margin) + ")";
}

// What the run would have, where the config says it: on the CPU of this machine, or on a GPU that nobody
// named.
std::optional<std::int64_t> ConfiguredBudget(const std::string& words, bool on_gpu) {
  const BudgetRequest request = ParseBudget(words);
  if (request.kind == BudgetRequest::Kind::kBytes) return request.bytes;  // also of a larger machine
  if (request.kind == BudgetRequest::Kind::kFree) return std::nullopt;
  if (on_gpu) return std::nullopt;  // a part of nobody knows what
  return ResolveBudget(request, at::kCPU).bytes;
}

// What the run is to have.
struct Limits {
  std::vector<Gpu> gpus{};   // of --gpus
  std::optional<Gpu> gpu{};  // of --gpu
  std::optional<std::int64_t> memory{};

  bool names_gpus() const { return gpu || !gpus.empty(); }
  bool is_one() const { return gpu || memory; }
  std::int64_t bytes() const { return gpu ? gpu->usable() : *memory; }
};

// What the planner would do with the bytes, or why they are too few.
struct PlannedFit {
  std::optional<Advice> advice{};
  std::optional<DoesNotFit> refusal{};
  bool rows_wait = false;  // on the device itself

  FitVerdict verdict() const { return advice ? VerdictOf(*advice) : VerdictOf(*refusal, rows_wait); }
};

PlannedFit AnswerFor(const Estimate& estimate, std::int64_t budget) try {
  return {.advice = AdviceOf(estimate, estimate.PlanFor(budget))};
} catch (const DoesNotFit& refusal) {
  return {.refusal = refusal, .rows_wait = !estimate.on_gpu()};
}

// "8 x RTX 3090 within 50%"
std::string NameOf(const Limits& limits, const EstimateArguments& arguments) {
  std::string name = limits.gpu ? limits.gpu->name : FormatBytes(*limits.memory);
  if (arguments.ranks > 1) name = std::to_string(arguments.ranks) + " x " + name;
  const bool is_part = limits.gpu && BudgetOf(arguments.budget).kind != BudgetRequest::Kind::kFree;
  return is_part ? name + " within " + arguments.budget : name;
}

void Print(const PlannedFit& answer, const Limits& limits, const EstimateArguments& arguments,
           const NamesOfForms& names) {
  const std::string of = limits.gpu ? FormatBytes(limits.gpu->usable()) : "";
  std::cout << Prose(NameOf(limits, arguments) + ": " + Words(answer.verdict(), of, names) + "\n");
  if (answer.advice) std::cout << "\n" << AdviceTable(*answer.advice, names);
  std::cout << std::flush;  // what is asked for beside it may take its time
}

ordered_json RecommendedJson(const GpuVerdicts& gpus) {
  ordered_json json = ordered_json::object();
  if (!gpus.as_configured.empty()) json["as_configured"] = gpus.as_configured;
  if (!gpus.in_pieces.empty()) json["in_pieces"] = gpus.in_pieces;
  return json;
}

void PrintMore(const EstimateArguments& arguments) {
  if (arguments.all) return;
  std::cout << Prose(
      "An estimate: nothing ran. With --all also what makes the peaks, peaks by rows, "
      "evaluations, every GPU, and what is assumed.\n",
      0);
}

// What to do, in the three forms of the question, each from its answer on.
class Reporter {
 public:
  // Keeps the references; the JSON is known as far as it goes where a report throws.
  Reporter(const EstimateArguments& arguments, const Limits& limits, Estimates& estimates, bool runs_on_gpu,
           ordered_json& json)
      : arguments_(arguments),
        limits_(limits),
        estimates_(estimates),
        runs_on_gpu_(runs_on_gpu),
        on_gpu_(limits.names_gpus() || runs_on_gpu),
        json_(json) {}

  // Of --gpus.
  void OfSeveral() {
    const std::vector<GpuFit> fits = FitsOn(estimates_.On(true), limits_.gpus, estimates_.Tell(kGpusPart));
    json_["fits"] = ToJson(fits);
    AddRanks();
    if (Prints()) {
      std::cout << CountOfFits(fits) << "\n\n" << GpuTable(fits, estimates_.names());
      std::cout << TypeWords(limits_.gpus);
      if (arguments_.all) {
        std::cout << "\n";
        PrintModel(estimates_.subject(), arguments_.ranks);
        PrintAssumptions(on_gpu_, !arguments_.profile.empty());
      }
    }
    RequireAny(fits);
  }

  // Of a GPU or of so many bytes.
  void OfOne() {
    const PlannedFit answer = AnswerFor(estimates_.On(on_gpu_), limits_.bytes());
    if (Prints()) Print(answer, limits_, arguments_, estimates_.names());
    if (Prints()) PrintMore(arguments_);
    if (arguments_.everything()) Tell(AccountOf(estimates_, on_gpu_));
    AddRanks();
    if (arguments_.check) Check();
    json_["verdict"] = ToJson(answer.verdict());
    if (answer.advice) return void(json_["advice"] = ToJson(*answer.advice));
    json_["refusals"] = RefusalsJson(*answer.refusal);
    const std::string what = limits_.gpu ? Describe(*limits_.gpu) : FormatBytes(*limits_.memory);
    throw Error("on " + what + ": " + answer.refusal->what(), ExitCode::kDoesNotFit);
  }

  // Of a run that may be anywhere.
  void OfAny() {
    if (arguments_.everything()) {
      const EstimateAccount account = AccountOf(estimates_, on_gpu_);
      if (Prints()) std::cout << Prose(Recommendation(account.gpus) + "\n", 0);
      Tell(account);
      return Conclude(account.gpus);
    }
    const GpuVerdicts gpus = JudgeGpus(estimates_.On(true), KnownGpus(), estimates_.Tell(kGpusPart));
    Prints();
    std::cout << Prose(Recommendation(gpus) + "\n", 0) << "\n" << VerdictTable(gpus, estimates_.names());
    PrintMore(arguments_);
    Conclude(gpus);
  }

 private:
  // Whether people read it; then no progress stands in the way.
  bool Prints() {
    if (!arguments_.as_json) estimates_.HideProgress();
    return !arguments_.as_json;
  }
  void AddRanks() {
    if (arguments_.ranks > 1) json_["ranks"] = arguments_.ranks;
  }

  void Tell(const EstimateAccount& account) {
    AddTo(json_, account, on_gpu_);
    if (Prints()) Print(account, estimates_, limits_.gpu ? &*limits_.gpu : nullptr, on_gpu_, arguments_);
  }

  void Conclude(const GpuVerdicts& gpus) {
    AddRanks();
    if (arguments_.check) Check();
    json_["recommended"] = RecommendedJson(gpus);
    if (!gpus.any_fits()) RequireThisMachine();
  }

  void Check() {
    const Estimate& estimate = estimates_.OfStepsOn(runs_on_gpu_);
    const std::int64_t estimates_own = ReadMemory(at::kCPU).now;
    const auto run =
        BuildRun(CheckInputs(arguments_.config, arguments_.overrides, arguments_.plugins), Purpose::kTrain);
    Console console(stderr);
    BeginReferences(*run, console);
    const std::vector<CheckedStep> steps =
        CheckSteps(*run, estimate, estimates_own, estimates_.Tell(kCheckPart));
    json_["check"] = ToJson(steps);
    if (Prints()) std::cout << "\n" << StepsTable(steps, estimates_.names(), run->device.str());
  }

  // The run fits no known GPU.
  void RequireThisMachine() {
    const std::int64_t memory = ReadHostMemory().total;
    const std::string has = "the " + FormatBytes(memory) + " of this machine";
    if (!on_gpu_ && AnswerFor(estimates_.On(false), memory).advice) {
      if (Prints()) std::cout << "It fits " + has + ".\n";
      return;
    }
    throw Error("the run fits none of the GPUs above" + (on_gpu_ ? "" : ", and not " + has) +
                    ". Take a smaller model, freeze parameters (optimizer.groups), or name what it will "
                    "have: --memory 200GiB",
                ExitCode::kDoesNotFit);
  }

  const EstimateArguments& arguments_;
  const Limits& limits_;
  Estimates& estimates_;
  bool runs_on_gpu_, on_gpu_;
  ordered_json& json_;
};

// Where its published vocabulary is not there.
void CountBySmallModel(EstimateArguments& arguments) {
  RunFiles files(arguments.config, arguments.overrides);
  const Registry registry = ScanPlugins(arguments.config, arguments.plugins, files).registry;
  const PublishedFiles published = PublishedFilesOf(arguments.config, files, registry);
  if (const std::string words = published.CountBySmallModel(arguments.overrides); !words.empty())
    std::cerr << words << '\n';
}

// Prints words, or gathers the JSON: what is known of it where it throws.
void Report(const EstimateArguments& arguments, Limits limits, ordered_json& json) {
  RunInputs inputs = CheckInputs(arguments.config, arguments.overrides, arguments.plugins);
  for (const std::string& line : inputs.registry.Choices(inputs.checked.curriculum.Named()))
    std::cerr << line << '\n';
  if (!inputs.checked.token_table.empty()) std::cerr << inputs.checked.token_table << '\n';
  const bool runs_on_gpu = inputs.checked.run.device != "cpu";
  if (runs_on_gpu && !limits.names_gpus()) RequireBytes(arguments.budget);
  Estimates estimates(arguments, std::move(inputs));
  const EstimatedRun& subject = estimates.subject();
  json = {{"model", ModelJson(subject, arguments.ranks)}};
  if (!limits.names_gpus() && !limits.memory)
    limits.memory = ConfiguredBudget(subject.run().config.budget, runs_on_gpu);
  Reporter reporter(arguments, limits, estimates, runs_on_gpu, json);
  if (!limits.gpus.empty()) return reporter.OfSeveral();
  limits.is_one() ? reporter.OfOne() : reporter.OfAny();
}

std::int64_t MemoryOf(const std::string& words) {
  try {
    const std::int64_t bytes = ParseBytes(words);
    if (bytes > 0) return bytes;
  } catch (const InputError&) {  // says no flag
  }
  throw InputError("medley estimate: --memory: expected a size such as 24GiB, found '" + Printable(words) +
                   "'");
}

}  // namespace

int RunEstimate(int argc, char** argv) {
  CLI::App app(
      "Says whether a run would fit, without running it, and how its tasks would run there: on a GPU, in so "
      "many bytes, or else on which GPUs. Exit code 5 where it does not fit.",
      "medley estimate");
  EstimateArguments arguments;
  app.add_option("CONFIG", arguments.config, "the run config")->required();
  app.add_option("KEY=VALUE", arguments.overrides,
                 "values that replace the config's, such as tasks.control.rows=8");
  auto* gpu_name = app.add_option("--gpu", arguments.gpu, "a GPU of configs/gpus, such as \"RTX 3090\"");
  auto* gpu_names =
      app.add_option("--gpus", arguments.gpus,
                     "a table of several, such as \"RTX 3090,H100\", or of all: what the planner "
                     "would take on each")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->excludes(gpu_name);
  auto* memory = app.add_option("--memory", arguments.memory,
                                "bytes for tensors, such as 24GiB; on the CPU by default the config's budget")
                     ->excludes(gpu_name)
                     ->excludes(gpu_names);
  AddBudget(app, arguments.budget)->excludes(memory);
  app.add_option("--ranks", arguments.ranks,
                 "how many processes train it together: the figures are those of one, with its part of the "
                 "rows")
      ->type_name("N")
      ->check(WholeNumber(1, 1024));
  app.add_option("--profile", arguments.profile,
                 "a profile.json whose measured bytes go before the estimate");
  app.add_flag("--check", arguments.check, "also run one step of each task and compare")->excludes(gpu_names);
  app.add_flag(
      "--all", arguments.all,
      "also what makes each task's peak, peaks by rows, evaluations, every GPU, and what is assumed");
  AddJson(app, arguments.as_json);
  AddPlugins(app, arguments.plugins);
  AddWide(app);
  if (!ParseArguments(app, argc, argv)) return 0;

  Limits limits;
  const BudgetRequest budget = BudgetOf(arguments.budget);
  if (!arguments.gpus.empty()) limits.gpus = GpusNamed(arguments.gpus, budget);
  if (!arguments.gpu.empty()) limits.gpu = GpuNamed(arguments.gpu, budget);
  if (!arguments.memory.empty()) limits.memory = MemoryOf(arguments.memory);
  if (!arguments.budget.empty()) arguments.overrides.push_back("budget=" + arguments.budget);
  CountBySmallModel(arguments);
  ordered_json json;
  const auto print = [&] {
    if (arguments.as_json) std::cout << JsonText(json, 2) << '\n';
  };
  try {
    Report(arguments, std::move(limits), json);
  } catch (const Error& refusal) {
    if (refusal.code() == ExitCode::kDoesNotFit && !json.is_null()) print();  // which is an answer too
    throw;
  }
  print();
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace medley
