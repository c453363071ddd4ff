#include <ATen/core/Tensor.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <medley/base/bytes.h>
#include <medley/base/files.h>
#include <medley/base/json_text.h>
#include <medley/base/random.h>
#include <medley/base/suggest.h>
#include <medley/base/version.h>
#include <medley/estimate/estimate.h>
#include <medley/estimate/estimate_report.h>
#include <medley/estimate/estimated_run.h>
#include <medley/eval/evaluator.h>
#include <medley/memory/budget.h>
#include <medley/memory/host_memory.h>
#include <medley/memory/meter.h>
#include <medley/model/parameter_bytes.h>
#include <medley/plan/plan_refusal.h>
#include <medley/plan/probe_rows.h>
#include <medley/report/table.h>
#include <medley/run/run.h>

#include "tools/medley/arguments.h"
#include "tools/medley/estimate_gpus.h"
#include "tools/medley/verbs.h"

namespace medley {
namespace {

using nlohmann::ordered_json;

const std::vector<std::int64_t> kRows = {1, 2, 4, 8, 16, 32, 64, 128},
                                kEvaluated = {1, 2, 4, 8, 16, kEvalRows};

struct Arguments {
  std::string config, gpu, memory, budget, profile;
  std::vector<std::string> gpus, overrides;
  NamedPlugins plugins;
  std::int64_t ranks = 1;
  bool check = false, as_json = false;
};

std::string Count(std::int64_t n) {
  std::string text = std::to_string(n);
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

void PrintModel(const EstimatedRun& subject, std::int64_t ranks) {
  std::string words = "model " + DisplayPath(subject.run().config.model) + ": " +
                      Count(subject.parameters()) + " parameters of " + std::to_string(subject.element()) +
                      " bytes";
  if (subject.trained() < subject.parameters()) words += ", " + Count(subject.trained()) + " of them trained";
  words += "\n  weights " + FormatBytes(WeightBytes(subject.model())) + ", gradients " +
           FormatBytes(TrainedBytes(subject.model().parameters())) + ", optimizer " +
           FormatBytes(subject.OptimizerBytes(ranks)) + "; weights and optimizer are in every peak below\n";
  if (ranks > 1)
    words += "Figures are those of one of " + std::to_string(ranks) +
             " processes, which has its part of a draw's rows, and a device for itself.\n";
  std::cout << Prose(words);
}

ordered_json ModelJson(const EstimatedRun& subject, std::int64_t ranks) {
  return {{"file", DisplayPath(subject.run().config.model)},
          {"parameters", subject.parameters()},
          {"trained_parameters", subject.trained()},
          {"bytes_of_a_parameter", subject.element()},
          {"weights", WeightBytes(subject.model())},
          {"gradients", TrainedBytes(subject.model().parameters())},
          {"optimizer", subject.OptimizerBytes(ranks)}};
}

void PrintAssumptions(bool on_gpu, bool has_profile) {
  std::string words = "\nAssumed: rows of the largest declared lengths";
  if (on_gpu) {
    words +=
        "; what a GPU's libraries take as in configs/gpus (a context, a cuBLAS workspace for each of two "
        "threads, and 5 % that the allocator cannot use); scores kept where query heads share key heads, "
        "as CUDA has no fused attention for them in fp32. No figure was measured on a GPU";
  } else {
    words += "; bytes of tensors as the counting allocator has them, not those of code and libraries";
  }
  if (has_profile) words += "; * measured";
  std::cout << Prose(words + ".\n", 0);
}

// The peak of one real step with rows of the largest lengths: the trainer's bytes, and on the CPU the rows.
std::int64_t MeasuredPeak(const Run& run, LoadedTask& task, const Execution& plan, std::int64_t rows) {
  const ProbeRows probe(task, TaskSeed(static_cast<std::uint64_t>(run.config.seed), task.info().name));
  const std::int64_t micro = RowsAtOnce(plan.micro_rows, rows);
  std::int64_t peak = 0;
  for (std::int64_t kind = 0; kind < probe.kinds(); ++kind) {
    const std::int64_t others = ReadMemory(run.device).data;
    const Batch batch = probe.Make(kind, micro, rows / micro);
    ResetPeak(run.device);
    run.executor->Run({{.task = &task, .batch = &batch, .execution = &plan}});
    run.optimizer->Step(0);
    const MemoryReading reading = ReadMemory(run.device);
    peak = std::max(peak, reading.peak + reading.data - others);
  }
  return peak;
}

// As they are in a run that goes on: every task is loaded, has its tables, and is known to keep its contract.
void WarmUp(const Run& run, const std::vector<EstimatedTask>& tasks) {
  for (const EstimatedTask& estimated : tasks) {
    LoadedTask& task = run.host->Get(estimated.request.form);
    const ProbeRows probe(task, TaskSeed(static_cast<std::uint64_t>(run.config.seed), task.info().name));
    const Batch batch = probe.Make(0, 1);
    const Execution execution = run.Configured(estimated.request.form);
    run.executor->Run({{.task = &task, .batch = &batch, .execution = &execution}});
    run.optimizer->Step(0);
  }
}

// One step of a task that was really run, beside the estimate for it.
struct CheckedStep {
  std::string task;
  std::int64_t rows = 0, estimated = 0, measured = 0;  // the latter two: bytes at the peak
};

// `estimate` is for the device of the run, whatever GPU was asked about.
std::vector<CheckedStep> CheckSteps(const Run& run, const Estimate& estimate, std::int64_t estimates_own) {
  std::vector<CheckedStep> steps;
  WarmUp(run, estimate.tasks());
  for (const EstimatedTask& task : estimate.tasks()) {
    const Form& form = task.request.form;
    const Execution plan = run.Configured(form);
    // Whole forwards of so many rows.
    std::int64_t rows = std::max<std::int64_t>(task.request.rows, 1);
    rows -= rows % RowsAtOnce(plan.micro_rows, rows);
    const std::int64_t measured =
        MeasuredPeak(run, run.host->Get(form), plan, rows) - (run.device.is_cpu() ? estimates_own : 0);
    steps.push_back({form.id.text(), rows, estimate.Peak(task, rows, plan.micro_rows), measured});
  }
  return steps;
}

void PrintSteps(const std::vector<CheckedStep>& steps, const std::string& device) {
  Table table({"task", "rows", "estimated", "measured", "error"});
  for (const CheckedStep& step : steps) {
    char error[32];
    std::snprintf(error, sizeof error, "%+.1f %%",
                  100 * (static_cast<double>(step.estimated) / static_cast<double>(step.measured) - 1));
    table.Add({step.task, std::to_string(step.rows), FormatBytes(step.estimated), FormatBytes(step.measured),
               error});
  }
  std::cout << "\nOne step of each task, run on " << device << " beside the estimate for it:\n"
            << table.ToText();
}

ordered_json CheckJson(const std::vector<CheckedStep>& steps) {
  ordered_json json = ordered_json::array();
  for (const CheckedStep& step : steps)
    json.push_back({{"task", step.task},
                    {"rows", step.rows},
                    {"estimated", step.estimated},
                    {"measured", step.measured}});
  return json;
}

void Check(const Arguments& arguments, const Estimate& estimate, ordered_json& json) {
  const std::int64_t estimates_own = ReadMemory(at::kCPU).now;
  const auto run =
      BuildRun(CheckInputs(arguments.config, arguments.overrides, arguments.plugins), Purpose::kTrain);
  const std::vector<CheckedStep> steps = CheckSteps(*run, estimate, estimates_own);
  json["check"] = CheckJson(steps);
  if (!arguments.as_json) PrintSteps(steps, run->device.str());
}

// What the planner would do with so many bytes, or what does not fit.
void Advise(const Arguments& arguments, const Estimate& estimate, std::int64_t budget,
            const std::string& what, ordered_json& json) try {
  const Advice advice = AdviceOf(estimate, estimate.PlanFor(budget));
  json["advice"] = ToJson(advice);
  if (arguments.as_json) return;
  std::cout << Prose("\nOn " + what +
                         ": the mode, the rows of one forward, and how many forwards make a step\n",
                     0)
            << AdviceTable(advice);
} catch (const DoesNotFit& refusal) {
  json["refusals"] = RefusalsJson(refusal);
  throw Error("on " + what + ": " + refusal.what(), ExitCode::kDoesNotFit);
}

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

// Of a run that fits no known GPU.
void RequireThisMachine(const Estimate& estimate) {
  const std::int64_t memory = ReadHostMemory().total;
  try {
    if (!estimate.on_gpu()) return void(estimate.PlanFor(memory));
  } catch (const DoesNotFit&) {
  }
  throw Error("the run fits none of the GPUs above" +
                  (estimate.on_gpu() ? "" : ", and not the " + FormatBytes(memory) + " of this machine") +
                  ". Take a smaller model, freeze parameters (optimizer.groups), or name what it will have: "
                  "--memory 200GiB",
              ExitCode::kDoesNotFit);
}

// What the run is to have.
struct Limits {
  std::vector<Gpu> gpus{};   // of --gpus
  std::optional<Gpu> gpu{};  // of --gpu
  std::optional<std::int64_t> memory{};

  bool names_gpus() const { return gpu || !gpus.empty(); }
};

// Prints words, or gathers the JSON: what is known of it where it throws.
void Report(const Arguments& arguments, Limits limits, ordered_json& json) {
  RunInputs inputs = CheckInputs(arguments.config, arguments.overrides, arguments.plugins);
  for (const std::string& line : inputs.registry.Choices(inputs.checked.curriculum.Named()))
    std::cerr << line << '\n';
  if (!inputs.checked.token_table.empty()) std::cerr << inputs.checked.token_table << '\n';
  const bool runs_on_gpu = inputs.checked.run.device != "cpu", on_gpu = limits.names_gpus() || runs_on_gpu;
  if (on_gpu && !limits.names_gpus()) RequireBytes(arguments.budget);
  const EstimatedRun subject(std::move(inputs));
  const auto estimate_on = [&](bool a_gpu) {
    std::vector<EstimatedTask> tasks = subject.Tasks(a_gpu);
    if (a_gpu == on_gpu) subject.AddEvaluation(tasks, on_gpu);
    if (!arguments.profile.empty()) subject.UseProfile(arguments.profile, tasks);
    return subject.Of(std::move(tasks), a_gpu, arguments.ranks);
  };
  const Estimate estimate = estimate_on(on_gpu);
  if (!limits.gpus.empty()) {
    const std::vector<GpuFit> fits = FitsOn(estimate, limits.gpus);
    json = {{"model", ModelJson(subject, arguments.ranks)}, {"fits", ToJson(fits)}};
    if (arguments.ranks > 1) json["ranks"] = arguments.ranks;
    if (!arguments.as_json) {
      PrintModel(subject, arguments.ranks);
      PrintAssumptions(on_gpu, !arguments.profile.empty());
      PrintFits(subject, fits);
    }
    return RequireAny(fits);
  }
  const Estimate other = estimate_on(!on_gpu);
  const GpuVerdicts gpus = JudgeGpus(on_gpu ? estimate : other, KnownGpus());
  if (!limits.memory && !limits.gpu)
    limits.memory = ConfiguredBudget(subject.run().config.budget, runs_on_gpu);

  const std::vector<TaskFigures> tasks = FiguresOf(estimate, kRows, kEvaluated);
  json = {{"model", ModelJson(subject, arguments.ranks)},
          {"on_gpu", on_gpu},
          {"tasks", ToJson(tasks)},
          {"waiting", estimate.WaitingBytes()},
          {"gpus", ToJson(gpus)}};
  if (arguments.ranks > 1) json["ranks"] = arguments.ranks;
  if (!arguments.as_json) {
    PrintModel(subject, arguments.ranks);
    std::cout << Prose(std::string("\nThe widest moment of a step as configured, ") +
                           (on_gpu ? "on a GPU" : "on the CPU") +
                           "; and of an evaluation, with its rows at once:\n",
                       0)
              << StepTable(tasks, limits.gpu ? &*limits.gpu : nullptr)
              << "Beside it, rows that wait on the CPU: " << FormatBytes(estimate.WaitingBytes()) << "\n"
              << "\nPeak by the rows of one forward:\n"
              << RowsTable(tasks) << "\nPeak of an evaluation by the rows at once:\n"
              << EvaluationTable(tasks) << "\n"
              << VerdictTable(gpus);
    PrintAssumptions(on_gpu, !arguments.profile.empty());
  }
  if (arguments.check) Check(arguments, runs_on_gpu == on_gpu ? estimate : other, json);
  if (limits.gpu) return Advise(arguments, estimate, limits.gpu->usable(), Describe(*limits.gpu), json);
  if (limits.memory) return Advise(arguments, estimate, *limits.memory, FormatBytes(*limits.memory), json);
  if (!gpus.any_fits()) RequireThisMachine(estimate);
}

std::int64_t MemoryOf(const std::string& words) {
  try {
    const std::int64_t bytes = ParseBytes(words);
    if (bytes > 0) return bytes;
  } catch (const InputError&) {  // says no flag
  }
  throw InputError("medley estimate: --memory: expected a size such as 24GiB, found '" + words + "'");
}

}  // namespace

int RunEstimate(int argc, char** argv) {
  CLI::App app(
      "Says what a run would take, without running it: bytes by task, by rows, and the GPUs that it fits on. "
      "Exit "
      "code 5 where it does not fit.",
      "medley estimate");
  Arguments arguments;
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
