#include <medley/report/progress.h>

#include <algorithm>

#include <medley/report/table.h>

namespace medley {
namespace {

constexpr double kForget = 0.95;  // how much of the past is kept a step
constexpr double kLossForget = 0.9;

}  // namespace

Progress::Progress(std::int64_t first_step, std::int64_t total_steps, double most_seconds)
    : step_(first_step), total_(total_steps), most_seconds_(most_seconds) {}

void Progress::Add(const StepRecord& record) {
  step_ = record.step;
  step_seconds_ = kForget * step_seconds_ + record.seconds;
  step_rows_ = kForget * step_rows_ + static_cast<double>(record.rows());
  weight_ = kForget * weight_ + 1;
  for (const auto& [task, terms] : record.losses) {
    const double loss = TotalLoss(terms);
    last_losses_[task] = loss;
    const auto [smooth, is_new] = losses_.try_emplace(task, loss);
    if (!is_new) smooth->second = kLossForget * smooth->second + (1 - kLossForget) * loss;
  }
  memory_now_ = record.memory_now;
  memory_peak_ = std::max(memory_peak_, record.memory_peak);
}

double Progress::RowsPerSecond() const { return step_seconds_ > 0 ? step_rows_ / step_seconds_ : 0; }

double Progress::SecondsLeft() const {
  if (weight_ <= 0) return -1;
  const double steps_left = static_cast<double>(total_ - step_) * step_seconds_ / weight_;
  if (most_seconds_ <= 0) return steps_left;
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - started_;
  return std::min(steps_left, std::max(0.0, most_seconds_ - passed.count()));
}

std::string Progress::Line() const {
  std::string line = "step " + std::to_string(step_) + "/" + std::to_string(total_);
  line += ", " + FormatSeconds(SecondsLeft()) + " left, " + FormatNumber(RowsPerSecond()) + " rows/s";
  line += ", memory " + FormatBytes(static_cast<double>(memory_now_));
  line += " (peak " + FormatBytes(static_cast<double>(memory_peak_)) + "):";
  for (const auto& [task, loss] : losses_) line += "  " + task + " " + FormatNumber(loss);
  return line;
}

}  // namespace medley
