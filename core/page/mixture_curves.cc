#include <medley/page/mixture_curves.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

namespace medley {
namespace {

using nlohmann::ordered_json;

constexpr std::int64_t kPoints = 120;

std::int64_t StepOf(const ordered_json& mark) { return mark["step"].get<std::int64_t>(); }

// The last one before a step; null: none.
const ordered_json* LastBefore(const std::vector<const ordered_json*>& marks, std::int64_t step) {
  const auto at =
      std::ranges::partition_point(marks, [&](const ordered_json* mark) { return StepOf(*mark) < step; });
  return at == marks.begin() ? nullptr : *std::prev(at);
}

bool HasShares(const ordered_json& mark) { return mark.contains("shares") && mark["shares"].is_object(); }

// Those after which other shares hold, or are led to.
std::vector<const ordered_json*> ChangesIn(const std::vector<ordered_json>& marks) {
  std::vector<const ordered_json*> changes;
  for (const ordered_json& mark : marks) {
    if (!HasShares(mark)) continue;
    if (changes.empty() || mark.contains("ramp") || (*changes.back())["shares"] != mark["shares"])
      changes.push_back(&mark);
  }
  return changes;
}

double ShareIn(const ordered_json& shares, const std::string& task) {
  const auto found = shares.find(task);
  return found != shares.end() && found->is_number() ? found->get<double>() : 0;
}

using Amounts = std::map<std::string, double>;  // by task

// What tasks were to have of all that was drawn, by the shares that held while it was.
class AskedAmounts {
 public:
  // Keeps the references.
  AskedAmounts(const std::map<std::string, Curve>& amounts, const std::vector<const ordered_json*>& changes,
               std::int64_t last_step)
      : amounts_(amounts), changes_(changes) {
    for (std::size_t i = 0; i < changes.size(); ++i) {
      const std::int64_t step = StepOf(*changes[i]);
      const std::int64_t next = i + 1 < changes.size() ? StepOf(*changes[i + 1]) : last_step;
      asked_.push_back({{step, UpTo(step)}});
      drawn_.push_back(All(step));
      if (changes[i]->contains("ramp")) Lead(*changes[i], next);
    }
  }

  // From the first change on: nobody knows what was asked before.
  Amounts UpTo(std::int64_t step) const {
    const auto known = changes_.begin() + std::ssize(drawn_);
    const auto next = std::partition_point(
        changes_.begin(), known, [&](const ordered_json* change) { return StepOf(*change) < step; });
    Amounts asked;
    for (const auto& [task, sums] : amounts_) asked[task] = 0;
    if (next == changes_.begin()) return asked;
    const auto last = static_cast<std::size_t>(next - changes_.begin() - 1);
    const auto& [from, before] = *std::prev(asked_[last].upper_bound(step));
    const double drawn = All(step) - (from == StepOf(*changes_[last]) ? drawn_[last] : All(from));
    for (auto& [task, amount] : asked)
      amount = before.at(task) + ShareIn((*changes_[last])["shares"], task) * drawn;
    return asked;
  }

 private:
  // Step by step, as each of its draws asked for other shares, up to the next change.
  void Lead(const ordered_json& change, std::int64_t next) {
    const ordered_json& ramp = change["ramp"];
    const std::int64_t begun = StepOf(change);
    const double steps = ramp["until"].get<double>() - static_cast<double>(begun);
    const double draws_a_step = std::max(1.0, ramp["draws"].get<double>() / steps);
    double drawn = All(begun);
    Amounts asked = asked_.back().begin()->second;
    for (std::int64_t step = begun + 1; step <= next && static_cast<double>(step - begun) <= steps; ++step) {
      const double way = (static_cast<double>(step - begun) - 0.5 + 0.5 / draws_a_step) / steps;
      const double position = ramp.value("shape", "") == "cosine" ? (1 - std::cos(M_PI * way)) / 2 : way;
      const double all = All(step);
      for (auto& [task, amount] : asked) {
        const double from = ShareIn(ramp["from"], task), to = ShareIn(change["shares"], task);
        amount += (from + (to - from) * position) * (all - drawn);
      }
      drawn = all;
      asked_.back().emplace(step, asked);
    }
  }
  double All(std::int64_t step) const {
    double all = 0;
    for (const auto& [task, sums] : amounts_) all += ValueAt(sums, step);
    return all;
  }

  const std::map<std::string, Curve>& amounts_;
  const std::vector<const ordered_json*>& changes_;
  std::vector<double> drawn_;  // by change: all that was drawn before it
  // Likewise what was asked before it, and after the steps of its ramp.
  std::vector<std::map<std::int64_t, Amounts>> asked_;
};

double AllOf(const Amounts& amounts) {
  double sum = 0;
  for (const auto& [task, amount] : amounts) sum += amount;
  return sum;
}

Amounts DrawnUpTo(const std::map<std::string, Curve>& amounts, std::int64_t step) {
  Amounts drawn;
  for (const auto& [task, sums] : amounts) drawn[task] = ValueAt(sums, step);
  return drawn;
}

// Of what came between two steps.
Amounts Between(Amounts to, const Amounts& from) {
  for (auto& [task, amount] : to) amount -= from.at(task);
  return to;
}

}  // namespace

std::optional<NewestShares> SharesSinceTheirChange(const std::map<std::string, Curve>& amounts,
                                                   const std::vector<ordered_json>& marks) {
  const std::vector<const ordered_json*> changes = ChangesIn(marks);
  if (changes.empty()) return std::nullopt;
  const ordered_json& change = *changes.back();
  NewestShares newest{.since = StepOf(change), .asked = {}, .delivered = {}};
  for (const auto& [task, share] : change["shares"].items())
    if (share.is_number()) newest.asked[task] = share.get<double>();
  std::int64_t last = 0;
  for (const auto& [task, sums] : amounts) last = std::max(last, sums.empty() ? 0 : sums.back().step);
  const double led = change.contains("ramp") ? change["ramp"]["until"].get<double>() : 0;
  if (led > 0 && led <= static_cast<double>(last)) newest.since = static_cast<std::int64_t>(led);
  const AskedAmounts all_asked(amounts, changes, last);
  const Amounts drawn = Between(DrawnUpTo(amounts, last), DrawnUpTo(amounts, newest.since));
  const double all = AllOf(drawn);
  if (all <= 0) return newest;
  for (const auto& [task, part] : drawn) newest.delivered[task] = part / all;
  if (led <= static_cast<double>(last)) return newest;
  for (const auto& [task, part] : Between(all_asked.UpTo(last), all_asked.UpTo(newest.since)))
    newest.asked[task] = part / all;
  return newest;
}

ordered_json MixtureCurves(const std::map<std::string, Curve>& amounts,
                           const std::vector<ordered_json>& marks, std::int64_t last_step) {
  const std::vector<const ordered_json*> changes = ChangesIn(marks);
  std::vector<const ordered_json*> stages;
  for (const ordered_json& mark : marks)
    if (HasShares(mark) && (mark["kind"] == "start" || mark["kind"] == "stage")) stages.push_back(&mark);
  std::set<std::int64_t> steps;
  for (std::int64_t i = 1; i <= kPoints; ++i)
    steps.insert(std::max<std::int64_t>(1, i * last_step / kPoints));
  for (const ordered_json* stage : stages) steps.insert(StepOf(*stage));
  steps.erase(steps.begin(), steps.lower_bound(1));
  steps.erase(steps.upper_bound(last_step), steps.end());
  ordered_json curves = {{"steps", steps}, {"delivered", ordered_json::object()}};
  curves["asked"] = ordered_json::object();
  const AskedAmounts all_asked(amounts, changes, last_step);
  const auto put = [](ordered_json& curve, const Amounts& parts) {
    const double all = AllOf(parts);
    for (const auto& [task, part] : parts)
      curve[task].push_back(all > 0 ? ordered_json(Rounded(part / all)) : ordered_json());
  };
  for (const std::int64_t step : steps) {
    const ordered_json* const stage = LastBefore(stages, step);
    const std::int64_t since = stage != nullptr ? StepOf(*stage) : 0;
    put(curves["delivered"], Between(DrawnUpTo(amounts, step), DrawnUpTo(amounts, since)));
    put(curves["asked"], Between(all_asked.UpTo(step), all_asked.UpTo(since)));
  }
  return curves;
}

}  // namespace medley
