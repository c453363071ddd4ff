#include <medley/report/usual_speed.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace medley {
namespace {

constexpr std::int64_t kNotYet = 2;  // a task's first draws load it, and its kernels are made
constexpr std::int64_t kEnough = 10;
constexpr std::int64_t kWindow = 50;
constexpr std::size_t kMostKinds = 10000;  // of steps, where each draws other tasks
constexpr const char* kBesideDraws = "";   // no form's name

}  // namespace

void StepWork::Add(const StepWork& other) {
  for (const auto& [name, part] : other.parts) {
    parts[name].amount += part.amount;
    parts[name].seconds += part.seconds;
  }
}

double StepWork::seconds() const {
  double sum = 0;
  for (const auto& [name, part] : parts) sum += part.seconds;
  return sum;
}

StepWork WorkOf(const StepRecord& record) {
  StepWork work;
  double in_draws = 0, rows = 0;
  std::vector<std::string> forms;
  bool is_known = true;
  for (const DrawReceipt& draw : record.receipts) {
    StepWork::Part& part = work.parts[draw.form.text()];
    const auto of_draw = static_cast<double>(std::max<std::int64_t>(1, draw.rows));
    part.amount += of_draw;
    rows += of_draw;
    part.seconds += draw.seconds;
    in_draws += draw.seconds;
    is_known = is_known && draw.seconds > 0;
    forms.push_back(draw.form.text());
  }
  if (!is_known) {  // so there are draws
    std::ranges::sort(forms);
    std::string all;
    for (const std::string& form : forms) all += form + "\n";
    return {.parts = {{all, {.amount = rows, .seconds = record.seconds}}}};
  }
  work.parts[kBesideDraws] = {.amount = 1, .seconds = std::max(0.0, record.seconds - in_draws)};
  return work;
}

bool UsualSpeed::IsKnown(const Usual& usual) { return usual.steps >= kNotYet + kEnough; }

std::optional<double> UsualSpeed::Expected(const StepWork& work) const {
  double seconds = 0;
  for (const auto& [name, part] : work.parts) {
    const auto usual = usual_.find(name);
    if (usual == usual_.end() || !IsKnown(usual->second)) return std::nullopt;
    seconds += part.amount * usual->second.seconds;
  }
  return seconds;
}

void UsualSpeed::LearnNew(const StepWork& step) {
  for (const auto& [name, part] : step.parts) {
    if (usual_.size() >= kMostKinds && usual_.count(name) == 0) continue;
    Usual& usual = usual_[name];
    if (IsKnown(usual) || ++usual.steps <= kNotYet) continue;
    usual.seconds += (part.seconds / part.amount - usual.seconds) / static_cast<double>(++usual.learned);
  }
}

void UsualSpeed::Learn(const StepWork& work) {
  for (const auto& [name, part] : work.parts) {
    const auto found = usual_.find(name);
    if (found == usual_.end() || !IsKnown(found->second)) continue;
    Usual& usual = found->second;
    const std::int64_t window = std::min(++usual.learned, kWindow);
    usual.seconds += (part.seconds / part.amount - usual.seconds) / static_cast<double>(window);
  }
}

}  // namespace medley
