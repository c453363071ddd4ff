#include <medley/page/mixture_curves.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace medley {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t kPoints = 120;

std::int64_t StepOf(const ordered_json& mark) { return mark["step"].get<std::int64_t>(); }

// The last one before a step; null: none.
const ordered_json* LastBefore(const std::vector<const ordered_json*>& marks, std::int64_t step) {
  const auto at = std::partition_point(marks.begin(), marks.end(),
                                       [&](const ordered_json* mark) { return StepOf(*mark) < step; });
  return at == marks.begin() ? nullptr : *std::prev(at);
}

}  // namespace

std::optional<NewestShares> SharesSinceTheirChange(const std::map<std::string, Curve>& amounts,
                                                   const std::vector<ordered_json>& marks) {
  std::optional<NewestShares> newest;
  for (const ordered_json& mark : marks) {
    if (!mark.contains("shares") || !mark["shares"].is_object()) continue;
    std::map<std::string, double> asked;
    for (const auto& [task, share] : mark["shares"].items())
      if (share.is_number()) asked[task] = share.get<double>();
    if (!newest || newest->asked != asked)
      newest = {.since = StepOf(mark), .asked = std::move(asked), .delivered = {}};
  }
  if (!newest) return newest;
  double all = 0;
  for (const auto& [task, sums] : amounts) {
    const double part = sums.empty() ? 0 : sums.back().value - ValueAt(sums, newest->since);
    newest->delivered[task] = part;
    all += part;
  }
  if (all <= 0) newest->delivered.clear();
  for (auto& [task, part] : newest->delivered) part /= all;
  return newest;
}

ordered_json MixtureCurves(const std::map<std::string, Curve>& amounts,
                           const std::vector<ordered_json>& marks, std::int64_t last_step) {
  std::vector<const ordered_json*> changes, stages;
  for (const ordered_json& mark : marks) {
    if (!mark.contains("shares") || !mark["shares"].is_object()) continue;
    changes.push_back(&mark);
    if (mark["kind"] == "start" || mark["kind"] == "stage") stages.push_back(&mark);
  }
  std::set<std::int64_t> steps;
  for (std::int64_t i = 1; i <= kPoints; ++i)
    steps.insert(std::max<std::int64_t>(1, i * last_step / kPoints));
  for (const ordered_json* stage : stages) steps.insert(StepOf(*stage));
  steps.erase(steps.begin(), steps.lower_bound(1));
  steps.erase(steps.upper_bound(last_step), steps.end());
  ordered_json curves = {{"steps", steps}, {"delivered", ordered_json::object()}};
  curves["asked"] = ordered_json::object();
  for (const std::int64_t step : steps) {
    const ordered_json* const stage = LastBefore(stages, step);
    const ordered_json* const change = LastBefore(changes, step);
    std::map<std::string, double> parts;
    double all = 0;
    for (const auto& [task, sums] : amounts) {
      parts[task] = ValueAt(sums, step) - (stage != nullptr ? ValueAt(sums, StepOf(*stage)) : 0);
      all += parts[task];
    }
    for (const auto& [task, part] : parts) {
      curves["delivered"][task].push_back(all > 0 ? ordered_json(Rounded(part / all)) : ordered_json());
      const double asked = change != nullptr ? change->at("shares").value(task, 0.0) : 0;
      curves["asked"][task].push_back(change != nullptr ? ordered_json(Rounded(asked)) : ordered_json());
    }
  }
  return curves;
}

}  // namespace medley
