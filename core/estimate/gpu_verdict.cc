#include <medley/estimate/gpu_verdict.h>

#include <algorithm>
#include <cstddef>

#include <medley/base/suggest.h>
#include <medley/report/screen.h>
#include <medley/report/table.h>

namespace medley {
namespace {

using nlohmann::ordered_json;

constexpr int kNamed = 3;  // tasks in pieces that are named

// "in pieces: zoom 8 x 2, canvas 4 x 8 (joint + recompute 1) and 3 more"
std::string PiecesOf(const Advice& advice) {
  std::string words;
  int count = 0;
  for (const TaskAdvice& task : advice.tasks) {
    if (task.as_configured || ++count > kNamed) continue;
    words += (words.empty() ? "" : ", ") + task.form.text() + " " + std::to_string(task.best.rows.rows) +
             " x " + std::to_string(task.best.rows.steps);
    if (task.changes_way) words += " (" + task.way.Words() + ")";
  }
  if (count > kNamed) words += " and " + std::to_string(count - kNamed) + " more";
  return "in pieces: " + words;
}

// As scripts know it.
std::string OfNoTask(const FitVerdict& verdict) {
  return "no: weights and optimizer need " + FormatBytes(verdict.missing) + " more";
}

GpuVerdict VerdictOn(const Estimate& estimate, const Gpu& gpu) try {
  const Advice advice = AdviceOf(estimate, estimate.PlanFor(gpu.usable()));
  const FitVerdict verdict = VerdictOf(advice);
  return {.gpu = gpu,
          .fits = true,
          .as_configured = verdict.as_configured,
          .words = verdict.as_configured ? "yes" : PiecesOf(advice),
          .verdict = verdict};
} catch (const DoesNotFit& refusal) {
  const FitVerdict verdict = VerdictOf(refusal, !estimate.on_gpu());
  return {
      .gpu = gpu, .words = verdict.form ? ShortWords(verdict, {}) : OfNoTask(verdict), .verdict = verdict};
}

std::string ShareOf(const GpuVerdict& verdict) {
  return verdict.fits ? FormatShare(verdict.verdict.share) : "-";
}

// How many at the end take every task as configured.
std::size_t TakingAll(const std::vector<GpuVerdict>& gpus) {
  const auto end = std::find_if(gpus.rbegin(), gpus.rend(),
                                [](const GpuVerdict& verdict) { return !verdict.as_configured; });
  return static_cast<std::size_t>(end - gpus.rbegin());
}

}  // namespace

GpuVerdicts JudgeGpus(const Estimate& estimate, const std::vector<Gpu>& gpus, const Telling& tell) {
  GpuVerdicts verdicts;
  for (const Gpu& gpu : gpus) {
    if (tell)
      tell("planning for " + gpu.name, static_cast<double>(verdicts.gpus.size()),
           static_cast<double>(gpus.size()));
    const GpuVerdict& verdict = verdicts.gpus.emplace_back(VerdictOn(estimate, gpu));
    if (verdicts.as_configured.empty() && verdict.as_configured) verdicts.as_configured = gpu.name;
    if (verdicts.in_pieces.empty() && verdict.fits) verdicts.in_pieces = gpu.name;
  }
  return verdicts;
}

std::string Recommendation(const GpuVerdicts& verdicts) {
  const std::string &whole = verdicts.as_configured, &pieces = verdicts.in_pieces;
  const std::string count = std::to_string(verdicts.gpus.size()) + " GPUs";
  if (pieces.empty()) return "None of " + count + " is large enough.";
  std::string text = "Recommended: " + (whole.empty() ? pieces : whole) + ", the smallest of " + count +
                     " for every task " + (whole.empty() ? "in pieces" : "as configured");
  if (!whole.empty() && whole != pieces) text += "; " + pieces + " takes them in pieces";
  return text + ".";
}

std::string VerdictTable(const GpuVerdicts& verdicts, const NamesOfForms& names) {
  const std::vector<GpuVerdict>& gpus = verdicts.gpus;
  const std::size_t all = TakingAll(gpus), shown = gpus.size() - (all > 0 ? all - 1 : 0);
  Table table({"GPU", "for tensors", "at most", "fits"});
  table.Breaks("fits");
  for (std::size_t i = 0; i < shown; ++i)
    table.Add({gpus[i].gpu.name, FormatBytes(gpus[i].gpu.usable()), ShareOf(gpus[i]),
               ShortWords(gpus[i].verdict, names)});
  std::vector<std::string> larger;
  for (std::size_t i = shown; i < gpus.size(); ++i) larger.push_back(gpus[i].gpu.name);
  if (larger.empty()) return table.ToText();
  return table.ToText() + Prose("So do the larger ones: " + JoinNames(larger, ", ") + ".\n", 0);
}

std::string WholeVerdictTable(const GpuVerdicts& verdicts, const NamesOfForms& names) {
  Table table({"GPU", "for tensors", "memory", "context", "workspace", "margin", "at most", "fits"});
  table.Spares({"workspace", "context", "margin", "memory"}).Breaks("fits");
  for (const GpuVerdict& verdict : verdicts.gpus) {
    const Gpu& gpu = verdict.gpu;
    table.Add({gpu.name, FormatBytes(gpu.usable()), FormatBytes(gpu.memory), FormatBytes(gpu.context),
               FormatBytes(gpu.workspace), FormatBytes(gpu.margin), ShareOf(verdict),
               ShortWords(verdict.verdict, names)});
  }
  return table.ToText();
}

ordered_json ToJson(const GpuVerdicts& verdicts) {
  ordered_json json = ordered_json::array();
  for (const GpuVerdict& verdict : verdicts.gpus) {
    const Gpu& gpu = verdict.gpu;
    json.push_back({{"name", gpu.name},
                    {"memory", gpu.memory},
                    {"context", gpu.context},
                    {"workspace", gpu.workspace},
                    {"margin", gpu.margin},
                    {"usable", gpu.usable()},
                    {"fits", verdict.as_configured ? "as configured"
                             : verdict.fits        ? "in pieces"
                                                   : "no"},
                    {"words", verdict.words}});
    if (verdict.fits) json.back()["share"] = verdict.verdict.share;
  }
  return json;
}

}  // namespace medley
