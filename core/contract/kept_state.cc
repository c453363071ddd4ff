#include <medley/contract/kept_state.h>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <memory>

#include <medley/base/bytes.h>
#include <medley/contract/contract_sample.h>
#include <medley/memory/meter.h>
#include <medley/model/float_type.h>
#include <medley/step/sample_rows.h>

namespace medley {
namespace {

constexpr char kKeepNothing[] =
    "; a task keeps nothing between calls (a member, a static variable, a list that grows), and passes hand "
    "tensors over with Carry and Carried";

std::int64_t BytesAfterARun(const MicroBatch::Setting& setting, const Batch& one_row) {
  RunRows(setting, one_row);
  return ReadMemory(setting.device).now;
}

bool IsAlike(const MicroBatch::Setting& setting, double one, double other) {
  const double share = IsHalf(FloatTypeOf(setting.model)) ? 0.05 : 1e-4;
  return !std::isfinite(one) || !std::isfinite(other) ||
         std::abs(one - other) <= share * (std::abs(one) + std::abs(other)) + 1e-6;
}

}  // namespace

std::string CompareMemory(const MicroBatch::Setting& setting, const Batch& one_row) {
  const at::NoGradGuard no_graph;
  const std::int64_t second = BytesAfterARun(setting, one_row), third = BytesAfterARun(setting, one_row);
  if (!IsLeak(std::abs(third - second), setting.device)) return "";
  return "each run of the row " + std::to_string(one_row.rows().begin) + " leaves " +
         FormatBytes(std::abs(third - second)) + (third > second ? " more" : " less") +
         " in use than the one before, though the row is the same: a tensor is kept" + kKeepNothing +
         ": look at Run, and at the model's Forward";
}

std::string CompareInstances(const MicroBatch::Setting& setting, const Batch& one_row) {
  const at::NoGradGuard no_graph;
  const std::unique_ptr<LoadedTask> again = setting.task.Again();
  if (again == nullptr) return "";
  const std::string of_row = "the row " + std::to_string(one_row.rows().begin);
  const Batch row = SampleRows(*again, one_row.rows(), setting.device);
  if (const std::string difference = FirstDifference(one_row.To(at::kCPU), row.To(at::kCPU));
      !difference.empty())
    return "a second instance of the task, which sampled nothing before, gives another row " +
           std::to_string(one_row.rows().begin) + ", in " + difference + kKeepNothing + ": look at Sample";
  const RowsRun known = RunRows(setting, one_row);
  const MicroBatch::Setting fresh{.task = *again, .model = setting.model, .device = setting.device};
  const RowsRun other = RunRows(fresh, row);
  for (std::size_t pass = 0; pass < known.sums.size(); ++pass) {
    for (const auto& [term, sum] : known.sums[pass]) {
      const auto found = other.sums[pass].find(term);
      if (found != other.sums[pass].end() && IsAlike(setting, sum, found->second)) continue;
      return "pass '" + setting.task.variant().passes[pass].name + "' gave for the term '" + term + "' " +
             c10::str(sum) + " over " + of_row +
             ", and in a second instance of the task, which ran no other row before, " +
             (found == other.sums[pass].end() ? "nothing" : c10::str(found->second)) + kKeepNothing +
             ": look at Run";
    }
  }
  return "";
}

}  // namespace medley
