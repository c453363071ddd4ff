#include <medley/memory/estimate.h>

#include <ATen/core/Tensor.h>

#include <algorithm>

namespace medley {
namespace {

constexpr std::int64_t kMostRows = 1 << 16;  // of a draw, where the config leaves them open

}  // namespace

std::int64_t WeightBytes(const Model& model) {
  std::int64_t bytes = model.TableBytes();
  for (const Parameter& parameter : model.parameters())
    bytes += static_cast<std::int64_t>(parameter.tensor.nbytes());
  return bytes;
}

StepBytes Estimate::FloorOf(const EstimatedTask& task) const {
  StepBytes floor = floor_;
  floor.constants += task.shape.constants;
  return floor;
}

StepBytes Estimate::Training(const EstimatedTask& task, std::int64_t rows, std::int64_t micro_rows) const {
  StepSetting setting = task.setting;
  setting.rows = rows;
  setting.micro_rows = micro_rows;
  return TrainingBytes(model_, task.shape, setting, FloorOf(task));
}

std::int64_t Estimate::Peak(const EstimatedTask& task, std::int64_t rows, std::int64_t micro_rows) const {
  if (task.measured.empty()) return Training(task, rows, micro_rows).total();
  const std::int64_t micro = micro_rows > 0 ? std::min(micro_rows, rows) : rows;
  const PeakLines& lines = micro < rows ? task.measured_pieces : task.measured;
  return FloorOf(task).total() + lines.At(micro) +
         task.shape.row_bytes * (task.setting.on_gpu ? micro : rows);
}

StepBytes Estimate::Evaluation(const EstimatedTask& task, std::int64_t rows) const {
  StepSetting setting = task.setting;
  setting.rows = rows;
  StepBytes floor = FloorOf(task);
  floor.optimizer = 0;
  return EvaluationBytes(model_, task.shape, setting, floor);
}

Accumulation Estimate::Recommend(const EstimatedTask& task, std::int64_t budget) const {
  const std::int64_t rows = task.setting.rows;
  if (rows > 0 && Peak(task, rows, rows) <= budget) return {.rows = rows, .steps = 1};
  const std::int64_t fit = LargestThat(rows > 0 ? rows : kMostRows, [&](std::int64_t micro) {
    return Peak(task, rows > 0 ? rows : micro, micro) <= budget;
  });
  if (rows == 0) return {.rows = fit, .steps = fit > 0 ? 1 : 0};
  return Accumulate(rows, fit);
}

std::vector<Estimate::Shortfall> Estimate::Shortfalls(std::int64_t budget) const {
  if (floor_.total() > budget) return {{.task = "", .missing = floor_.total() - budget}};
  std::vector<Shortfall> shortfalls;
  for (const EstimatedTask& task : tasks_) {
    if (Recommend(task, budget).rows > 0) continue;
    shortfalls.push_back(
        {.task = task.name, .missing = Peak(task, std::max<std::int64_t>(task.setting.rows, 1), 1) - budget});
  }
  return shortfalls;
}

const EstimatedTask& Estimate::Heaviest() const {
  const auto peak = [&](const EstimatedTask& task) {
    return Peak(task, std::max<std::int64_t>(task.setting.rows, 1), task.setting.micro_rows);
  };
  return *std::max_element(tasks_.begin(), tasks_.end(),
                           [&](const EstimatedTask& a, const EstimatedTask& b) { return peak(a) < peak(b); });
}

}  // namespace medley
