#include "tools/medley/estimate_account.h"

#include <iostream>
#include <string>
#include <utility>

#include <medley/base/bytes.h>
#include <medley/base/files.h>
#include <medley/eval/evaluator.h>
#include <medley/model/parameter_bytes.h>
#include <medley/report/screen.h>
#include <medley/report/table.h>

#include "tools/medley/estimate_gpus.h"

namespace medley {
namespace {

const std::vector<std::int64_t> kRows = {1, 2, 4, 8, 16, 32, 64, 128},
                                kEvaluated = {1, 2, 4, 8, 16, kEvalRows};

std::string Count(std::int64_t n) {
  std::string text = std::to_string(n);
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

}  // namespace

EstimateAccount AccountOf(Estimates& estimates, bool on_gpu) {
  const Estimate& estimate = estimates.On(on_gpu);
  std::vector<TaskFigures> tasks = FiguresOf(estimate, kRows, kEvaluated, estimates.Tell(kFiguresPart));
  return {.tasks = std::move(tasks),
          .waiting = estimate.WaitingBytes(),
          .caches = estimate.CacheBytes(),
          .gpus = JudgeGpus(estimates.On(true), KnownGpus(), estimates.Tell(kGpusPart))};
}

void AddTo(nlohmann::ordered_json& json, const EstimateAccount& account, bool on_gpu) {
  json["on_gpu"] = on_gpu;
  json["tasks"] = ToJson(account.tasks);
  json["waiting"] = account.waiting;
  json["caches"] = account.caches;
  json["gpus"] = ToJson(account.gpus);
}

void Print(const EstimateAccount& account, const Estimates& estimates, const Gpu* gpu, bool on_gpu,
           const EstimateArguments& arguments) {
  const NamesOfForms names = estimates.names();
  std::cout << "\n";
  PrintModel(estimates.subject(), arguments.ranks);
  std::cout << Prose(std::string("\nThe widest moment of a step as configured, ") +
                         (on_gpu ? "on a GPU" : "on the CPU") +
                         "; and of an evaluation, with its rows at once:\n",
                     0)
            << StepTable(account.tasks, names, gpu)
            << "Beside it, rows that wait on the CPU: " << FormatBytes(account.waiting)
            << (account.caches > 0 ? "; caches of tasks there: " + FormatBytes(account.caches) : "") << "\n"
            << "\nPeak by the rows of one forward:\n"
            << RowsTable(account.tasks, names) << "\nPeak of an evaluation by the rows at once:\n"
            << EvaluationTable(account.tasks, names) << "\n"
            << WholeVerdictTable(account.gpus, names) << Prose(Recommendation(account.gpus) + "\n", 0);
  PrintAssumptions(on_gpu, !arguments.profile.empty());
}

void PrintModel(const EstimatedRun& subject, std::int64_t ranks) {
  std::string words = "model " + DisplayPath(subject.run().config.model) + ": " +
                      Count(subject.parameters()) + " parameters of " + std::to_string(subject.element()) +
                      " bytes";
  if (subject.trained() < subject.parameters()) words += ", " + Count(subject.trained()) + " of them trained";
  words += "\n  they take " + FormatBytes(WeightBytes(subject.model())) + ", gradients " +
           FormatBytes(TrainedBytes(subject.model().parameters())) + ", optimizer " +
           FormatBytes(subject.OptimizerBytes(ranks)) + "; they and the optimizer are in every peak below\n";
  if (subject.ReferenceBytes() > 0)
    words += "  so are further weights that passes ask, at most " + FormatBytes(subject.ReferenceBytes()) +
             " (references)\n";
  if (ranks > 1)
    words += "Figures are those of one of " + std::to_string(ranks) +
             " processes, which has its part of a draw's rows, and a device for itself.\n";
  std::cout << Prose(words);
}

nlohmann::ordered_json ModelJson(const EstimatedRun& subject, std::int64_t ranks) {
  nlohmann::ordered_json json = {{"file", DisplayPath(subject.run().config.model)},
                                 {"parameters", subject.parameters()},
                                 {"trained_parameters", subject.trained()},
                                 {"bytes_of_a_parameter", subject.element()},
                                 {"weights", WeightBytes(subject.model())},
                                 {"gradients", TrainedBytes(subject.model().parameters())},
                                 {"optimizer", subject.OptimizerBytes(ranks)}};
  if (subject.ReferenceBytes() > 0) json["references"] = subject.ReferenceBytes();
  return json;
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

}  // namespace medley
