#include <medley/estimate/gpu_fit.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <medley/base/bytes.h>
#include <medley/report/table.h>

namespace medley {
namespace {

// Of those that were refused, the bytes that each lacks; of no form: what weights and optimizer alone lack.
using Missing = std::map<std::optional<FormId>, std::int64_t>;

// Plans the tasks that fit. Each refusal names a task or, at last, none.
std::optional<Plan> PlanWhatFits(const Estimate& estimate, std::int64_t budget, Missing& missing) {
  std::set<FormId> left;
  for (const EstimatedTask& task : estimate.tasks()) left.insert(task.request.form.id);
  while (!left.empty() && missing.count(std::nullopt) == 0) {
    try {
      return estimate.PlanFor(budget, left);
    } catch (const DoesNotFit& refused) {
      for (const Refusal& refusal : refused.refusals()) {
        missing[refusal.form] = refusal.missing;
        if (refusal.form) left.erase(*refusal.form);
      }
    }
  }
  return std::nullopt;
}

std::vector<std::string> LineOf(const TaskOnGpu& task, const std::string& name) {
  if (task.room < 0) return {name, "does not fit", "-", "-", FormatBytes(task.room)};
  return {name, task.way.Words(), std::to_string(task.rows),
          std::to_string(task.forwards.rows) + " x " + std::to_string(task.forwards.steps),
          FormatBytes(task.room)};
}

std::vector<std::vector<std::string>> LinesOf(const GpuFit& fit, const NamesOfForms& names) {
  if (fit.room < 0) return {LineOf({.room = fit.room}, "parameters, optimizer")};
  std::vector<std::vector<std::string>> lines;
  for (const TaskOnGpu& task : fit.tasks) lines.push_back(LineOf(task, NameOf(task.form, names)));
  return lines;
}

// Whether the larger GPU takes the same of several tasks.
bool TakesNoMore(const GpuFit& larger, const GpuFit& smaller) {
  const auto same = [](const TaskOnGpu& a, const TaskOnGpu& b) {
    return a.rows == b.rows && a.forwards == b.forwards && a.way == b.way;
  };
  return smaller.fits() && smaller.tasks.size() > 1 &&
         std::equal(smaller.tasks.begin(), smaller.tasks.end(), larger.tasks.begin(), larger.tasks.end(),
                    same);
}

std::vector<std::string> AsAbove(const GpuFit& fit) {
  std::int64_t least = fit.tasks.front().room;
  for (const TaskOnGpu& task : fit.tasks) least = std::min(least, task.room);
  return {"as above", "", "", "", FormatBytes(least)};
}

}  // namespace

bool GpuFit::fits() const {
  return room >= 0 && std::ranges::all_of(tasks, [](const TaskOnGpu& task) { return task.room >= 0; });
}

GpuFit FitOn(const Estimate& estimate, const Gpu& gpu) {
  GpuFit fit{.gpu = gpu};
  Missing missing;
  const std::optional<Plan> plan = PlanWhatFits(estimate, gpu.usable(), missing);
  if (const auto floor = missing.find(std::nullopt); floor != missing.end()) {
    fit.room = -floor->second;
    return fit;
  }
  for (const EstimatedTask& task : estimate.tasks()) {
    TaskOnGpu& line = fit.tasks.emplace_back(TaskOnGpu{.form = task.request.form.id});
    if (const auto lacks = missing.find(line.form); lacks != missing.end()) {
      line.room = -lacks->second;
      continue;
    }
    const PlannedTask& planned = *plan->Find(line.form);
    const Estimate::Recommendation best = estimate.Recommend(task, *plan);
    line.rows = best.draw_rows;
    line.forwards = best.rows;
    line.way = planned.way;
    line.room = plan->budget - plan->data_bytes - best.peak;
  }
  return fit;
}

NamesOfForms FormNames(const FormTable& forms, const Curriculum& curriculum) {
  NamesOfForms names;
  for (const Stage& stage : curriculum.stages) {
    for (const std::string& task : stage.Active()) {
      const Form& form = forms.Of(stage, task);
      names.try_emplace(form.id, form.IsOwn() ? task : task + " (" + stage.name + ")");
    }
  }
  return names;
}

std::string CountOfFits(const std::vector<GpuFit>& fits) {
  const auto takes = [](const GpuFit& fit) { return fit.fits(); };
  const auto count = std::ranges::count_if(fits, takes);
  const auto smallest = std::ranges::find_if(fits, takes);
  if (fits.size() == 1)
    return fits[0].gpu.name + (count == 1 ? " takes every task." : " does not take every task.");
  if (count == 0) return "None of " + std::to_string(fits.size()) + " GPUs takes every task.";
  const std::string words = std::to_string(count) + " of " + std::to_string(fits.size()) + " GPUs take" +
                            (count == 1 ? "s" : "") + " every task";
  return words + (count == 1 ? ": " : "; the smallest is ") + smallest->gpu.name + ".";
}

std::string GpuTable(const std::vector<GpuFit>& fits, const NamesOfForms& names) {
  Table table({"GPU", "task", "mode", "rows", "forwards", "room"}, 3);
  table.Spares({"rows"});
  const GpuFit* above = nullptr;
  for (const GpuFit& fit : fits) {  // the smallest first
    auto lines = LinesOf(fit, names);
    if (above != nullptr && TakesNoMore(fit, *above)) lines = {AsAbove(fit)};
    std::string gpu = fit.gpu.name;
    for (std::vector<std::string>& line : lines) {
      line.insert(line.begin(), std::exchange(gpu, ""));
      table.Add(std::move(line));
    }
    above = &fit;
  }
  return table.ToText() +
         "rows: of a step; forwards: the rows of one x how many; room: bytes for tensors\n"
         "that the widest moment leaves, the least of them where all is as above; below 0\n"
         "what one row lacks.\n";
}

nlohmann::ordered_json ToJson(const std::vector<GpuFit>& fits) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const GpuFit& fit : fits) {
    nlohmann::ordered_json tasks = nlohmann::ordered_json::array();
    std::int64_t room = fit.room;
    for (const TaskOnGpu& task : fit.tasks) {
      room = tasks.empty() ? task.room : std::min(room, task.room);
      tasks.push_back({{"task", task.form.text()}, {"room", task.room}});
      if (task.room < 0) continue;  // not one row fits
      tasks.back().update({{"mode", ModeName(task.way.mode)},
                           RecomputedMember(task.way.recomputed),
                           {"rows", task.rows},
                           {"rows_of_a_forward", task.forwards.rows},
                           {"forwards", task.forwards.steps}});
    }
    json.push_back({{"gpu", fit.gpu.name},
                    {"usable", fit.gpu.usable()},
                    {"fits", fit.fits()},
                    {"room", room},
                    {"tasks", std::move(tasks)}});
  }
  return json;
}

}  // namespace medley
