#include <medley/estimate/advice.h>

#include <algorithm>

#include <medley/base/bytes.h>
#include <medley/report/screen.h>
#include <medley/report/table.h>

namespace medley {
namespace {

using nlohmann::ordered_json;

// What is missing and of what, without the number.
std::string NeedOf(const FitVerdict& verdict, const NamesOfForms& names) {
  if (!verdict.form)
    return verdict.rows_wait ? "parameters, optimizer and rows that wait need "
                             : "parameters and optimizer need ";
  return (verdict.evaluates ? "evaluating a row of " : "one row of ") + NameOf(*verdict.form, names) +
         " needs ";
}

// Nobody's plan is asked for rows of an evaluation that is never made.
double ShareOfEvaluation(const Estimate& estimate, const Estimate::Recommendation& best, const Plan& plan) {
  if (!estimate.evaluates() || best.evaluation_rows == 0) return 0;
  return static_cast<double>(best.evaluation_peak + plan.data_bytes) / static_cast<double>(plan.budget);
}

// What balance chose, the config asked for.
bool RepeatsMore(const PlannedTask& planned, const Way& configured) {
  const Way& way = planned.way;
  if (planned.own_rows > 0) return false;
  return (TraitsOf(way.mode).repeats_makers && !TraitsOf(configured.mode).repeats_makers) ||
         way.recomputed > configured.recomputed;
}

std::string Label(const TaskAdvice& task, const NamesOfForms& names) {
  return NameOf(task.form, names) + (task.variant == "default" ? "" : " (" + task.variant + ")");
}

std::string BalancedLines(const Advice& advice, const NamesOfForms& names) {
  std::string text;
  for (const TaskAdvice& task : advice.tasks) {
    if (!task.balanced.empty()) text += "  " + Label(task, names) + " " + task.balanced + "\n";
  }
  return text.empty() ? "" : "Brought to " + std::to_string(advice.usual_rows) + " rows:\n" + text;
}

std::string Footnotes(const Advice& advice) {
  std::string text = "rows: of one forward; accumulation: so many forwards make a step";
  if (advice.waiting > 0)
    text += "; in all: with " + FormatBytes(advice.waiting) + " of rows that wait beside the peak";
  if (advice.caches > 0) text += "; and with " + FormatBytes(advice.caches) + " of the tasks' caches";
  if (std::ranges::any_of(advice.tasks, [](const TaskAdvice& task) { return task.is_measured; }))
    text += "; * measured";
  text += ".";
  if (advice.ranks > 1)
    text += " Of one of " + std::to_string(advice.ranks) + " processes; a draw has the rows of all.";
  return Prose(text + "\n", 0);
}

}  // namespace

std::string NameOf(const FormId& form, const NamesOfForms& names) {
  const auto found = names.find(form);
  return found == names.end() ? form.text() : found->second;
}

std::size_t Advice::changed() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(tasks, [](const TaskAdvice& task) { return !task.as_configured; }));
}

Advice AdviceOf(const Estimate& estimate, const Plan& plan) {
  Advice advice{.budget = plan.budget,
                .waiting = plan.waiting_bytes(),
                .caches = plan.cache_bytes,
                .ranks = estimate.ranks(),
                .usual_rows = plan.usual_rows,
                .tasks = {}};
  for (const EstimatedTask& task : estimate.tasks()) {
    const PlannedTask& planned = *plan.Find(task.request.form.id);
    const Way& way = planned.way;
    const Estimate::Recommendation best = estimate.Recommend(task, plan);
    const std::int64_t taken = best.peak + plan.data_bytes;
    const bool changes_way = RepeatsMore(planned, task.setting.way);
    const ModeProfile* mode = task.measured ? task.measured->Find(way) : nullptr;
    advice.tasks.push_back({.form = task.request.form.id,
                            .variant = task.request.variant,
                            .way = way,
                            .best = best,
                            .taken = taken,
                            .share = static_cast<double>(taken) / static_cast<double>(plan.budget),
                            .evaluation = ShareOfEvaluation(estimate, best, plan),
                            .as_configured = best.rows.steps == 1 && !changes_way,
                            .changes_way = changes_way,
                            .balanced = planned.own_rows > 0 ? planned.why : "",
                            .is_measured = mode != nullptr && mode->measured()});
  }
  return advice;
}

std::string AdviceTable(const Advice& advice, const NamesOfForms& names) {
  std::vector<std::string> header = {
      "task", "mode", "rows", "accumulation", "peak", "in all, of the memory", "rows of an evaluation"};
  if (advice.ranks > 1) header.emplace_back("rows of a draw");
  Table table(std::move(header), 2);
  table.Spares({"rows of an evaluation", "in all, of the memory"});
  for (const TaskAdvice& task : advice.tasks) {
    const Estimate::Recommendation& best = task.best;
    std::vector<std::string> line = {
        Label(task, names),
        task.way.Words(),
        std::to_string(best.rows.rows),
        std::to_string(best.rows.steps),
        FormatBytes(best.peak) + (task.is_measured ? " *" : ""),
        FormatBytesOf(task.taken, advice.budget),
        best.evaluation_rows > 0 ? std::to_string(best.evaluation_rows) : "none fits"};
    if (advice.ranks > 1) line.push_back(std::to_string(best.draw_rows));
    table.Add(std::move(line));
  }
  return table.ToText() + BalancedLines(advice, names) + Footnotes(advice);
}

ordered_json ToJson(const Advice& advice) {
  ordered_json tasks = ordered_json::array();
  for (const TaskAdvice& task : advice.tasks) {
    tasks.push_back({{"task", task.form.text()},
                     {"variant", task.variant},
                     {"mode", ModeName(task.way.mode)},
                     RecomputedMember(task.way.recomputed),
                     {"rows", task.best.rows.rows},
                     {"accumulation", task.best.rows.steps},
                     {"peak", task.best.peak},
                     {"share_of_budget", task.share},
                     {"evaluation_rows", task.best.evaluation_rows}});
    if (advice.ranks > 1) tasks.back()["draw_rows"] = task.best.draw_rows;
    tasks.back()["evaluation_peak"] = task.best.evaluation_peak;
    tasks.back()["as_configured"] = task.as_configured;
    if (!task.balanced.empty()) tasks.back()["balanced"] = task.balanced;
  }
  ordered_json json = {{"budget", advice.budget},
                       {"waiting", advice.waiting},
                       {"caches", advice.caches},
                       {"tasks", std::move(tasks)}};
  if (advice.usual_rows > 0) json["usual_rows"] = advice.usual_rows;
  return json;
}

FitVerdict VerdictOf(const Advice& advice) {
  FitVerdict verdict{.fits = true, .tasks = advice.tasks.size(), .changed = advice.changed()};
  verdict.as_configured = verdict.changed == 0;
  for (const TaskAdvice& task : advice.tasks) {
    const double share = std::max(task.share, task.evaluation);
    if (share <= verdict.share) continue;
    verdict.share = share;
    verdict.form = task.form;
    verdict.evaluates = task.evaluation > task.share;
  }
  return verdict;
}

FitVerdict VerdictOf(const DoesNotFit& refusal, bool rows_wait) {
  const auto& all = refusal.refusals();
  const auto worst =
      std::ranges::max_element(all, [](const Refusal& a, const Refusal& b) { return a.missing < b.missing; });
  return {.form = worst->form,
          .evaluates = worst->of_evaluation,
          .missing = worst->missing,
          .rows_wait = rows_wait,
          .refused = all.size()};
}

std::string Words(const FitVerdict& verdict, const std::string& of, const NamesOfForms& names) {
  if (!verdict.fits) {
    std::string words = "does not fit: " + NeedOf(verdict, names) + FormatBytes(verdict.missing) + " more";
    if (!of.empty()) words += " than " + of;
    if (verdict.form && verdict.refused > 1)
      words += ", and " + std::to_string(verdict.refused - 1) + " more tasks lack some";
    return words;
  }
  std::string words = verdict.as_configured ? "fits" : "fits in pieces";
  words += ", " + FormatShare(verdict.share) + " of " + (of.empty() ? "it" : of) + " at most";
  if (verdict.form)
    words +=
        std::string(" (") + (verdict.evaluates ? "evaluating " : "") + NameOf(*verdict.form, names) + ")";
  return words;
}

std::string ShortWords(const FitVerdict& verdict, const NamesOfForms& names) {
  if (!verdict.fits) return "no: " + NeedOf(verdict, names) + FormatBytes(verdict.missing) + " more";
  if (verdict.as_configured) return "yes";
  return "in pieces: " + std::to_string(verdict.changed) + " of " + std::to_string(verdict.tasks) +
         (verdict.tasks == 1 ? " task" : " tasks");
}

ordered_json ToJson(const FitVerdict& verdict) {
  ordered_json json = {{"fits", verdict.as_configured ? "as configured" : verdict.fits ? "in pieces" : "no"}};
  if (verdict.form) json["task"] = verdict.form->text();
  json["in_evaluation"] = verdict.evaluates;
  if (verdict.fits)
    json["share"] = verdict.share;
  else
    json["missing"] = verdict.missing;
  return json;
}

}  // namespace medley
