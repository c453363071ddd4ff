#include <medley/contract/contract_reruns.h>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <medley/contract/contract_losses.h>
#include <medley/contract/contract_sample.h>
#include <medley/model/float_type.h>

namespace medley {
namespace {

std::string Difference(const std::string& pass, const std::string& what) {
  return "pass '" + pass + "' gave another value for " + what +
         " after other rows, with the passes in the opposite order, so that no mode but joint would be "
         "right: it depends on what an earlier call left (a member, a static variable); a task keeps nothing "
         "between calls, passes hand tensors over with Carry and Carried: look at Run";
}

// What joint passes share is made by other operators, and so rounded elsewhere.
struct Rounding {
  double relative, absolute;
};
Rounding RoundingOf(at::ScalarType type) {
  return IsHalf(type) ? Rounding{0.05, 0.05} : Rounding{1e-4, 1e-6};
}

// Runs a pass, and adds to the run, as the pass of that number, what it gave.
Sums RunPass(MicroBatch& micro, const PassInfo& pass, std::size_t number, RowsRun& run) {
  PassRecord record;
  record.keeps_outputs = true;
  Sums sums = micro.RunPass(pass, &record);
  for (const auto& [term, sum] : sums) run.sums[number][term] = sum.item<double>();
  run.outputs[number] = {record.made.begin(), record.made.end()};
  return sums;
}

RowsRun EmptyRun(std::size_t passes) {
  return {.sums = std::vector<std::map<std::string, double>>(passes), .outputs = RowOutputs(passes)};
}

PassValues RunAfter(const MicroBatch::Setting& setting, const Batch& one_row, const Batch* other_row,
                    const PassValues& first, AloneRuns& alone) {
  const std::vector<PassInfo>& passes = setting.task.variant().passes;
  if (other_row != nullptr) alone.insert_or_assign(other_row->rows().begin, RunRows(setting, *other_row));
  MicroBatch again(setting, one_row);
  for (const auto& [carry, value] : first.carries) again.HandCarry(carry, value);
  PassValues values{.sums = std::vector<Sums>(passes.size()), .carries = {}};
  RowsRun run = EmptyRun(passes.size());
  for (std::size_t i = passes.size(); i-- > 0;) {
    passes[i].ForEachMade([&](const std::string& carry) { again.TakeCarry(carry); });
    values.sums[i] = RunPass(again, passes[i], i, run);
    passes[i].ForEachMade(
        [&](const std::string& carry) { values.carries[carry] = again.carries().at(carry); });
  }
  alone.insert_or_assign(one_row.rows().begin, std::move(run));
  return values;
}

// Of the last pass first, as they ran.
template <typename Same>
std::vector<std::string> Differences(const std::vector<PassInfo>& passes, const PassValues& first,
                                     const PassValues& second, const Same& same) {
  std::vector<std::string> differences;
  for (std::size_t i = passes.size(); i-- > 0;) {
    for (const auto& [term, sum] : first.sums[i]) {
      const auto found = second.sums[i].find(term);
      if (found == second.sums[i].end() || !same(sum, found->second))
        differences.push_back(Difference(passes[i].name, "the term '" + term + "'"));
    }
    passes[i].ForEachMade([&](const std::string& carry) {
      if (!same(first.carries.at(carry), second.carries.at(carry)))
        differences.push_back(Difference(passes[i].name, "the carry '" + carry + "'"));
    });
  }
  return differences;
}

constexpr double kSumShare = 0.02, kRounding = 1e-6;          // of an item
constexpr std::int64_t kMostOutputs = std::int64_t{1} << 22;  // that the model gives all rows

double Of(const std::map<std::string, double>& sums, const std::string& term) {
  const auto found = sums.find(term);
  return found == sums.end() ? 0 : found->second;
}

bool AddsUp(double together, double first, double second, std::int64_t items) {
  const double scale = std::abs(first) + std::abs(second);
  if (!std::isfinite(together) || !std::isfinite(scale)) return true;  // its step says so
  return std::abs(together - (first + second)) <=
         kSumShare * scale + kRounding * static_cast<double>(1 + items);
}

// The versions of the constants, which each write to one raises.
std::vector<std::int64_t> Versions(const MicroBatch::Setting& setting) {
  std::vector<std::int64_t> versions;
  for (const ConstantInfo& constant : setting.task.info().constants) {
    const at::Tensor table = setting.task.Constant(constant.name, setting.device);
    versions.push_back(table.is_inference() ? 0 : static_cast<std::int64_t>(table._version()));
  }
  return versions;
}

std::vector<std::string> CompareSums(const MicroBatch::Setting& setting, const Batch& two_rows,
                                     const std::vector<RowsRun>& alone, const RowsRun& together) {
  std::vector<std::string> differences;
  for (const TermInfo& term : setting.task.variant().terms) {
    for (std::size_t i = 0; i < together.sums.size() && term.weight != 0; ++i) {
      const double a = Of(alone[0].sums[i], term.name), b = Of(alone[1].sums[i], term.name),
                   c = Of(together.sums[i], term.name);
      if (AddsUp(c, a, b, two_rows.ItemCount(term.name))) continue;
      const std::int64_t row = two_rows.rows().begin;
      differences.push_back("pass '" + setting.task.variant().passes[i].name + "' gave for the term '" +
                            term.name + "' " + c10::str(c) + " over the rows " + std::to_string(row) +
                            " and " + std::to_string(row + 1) + " together, but " + c10::str(a) + " and " +
                            c10::str(b) +
                            " over each alone; Run returns sums, never means (at::Reduction::Sum, sum() for "
                            "mean()), and a row adds the same whatever rows are beside it, in the model too");
    }
  }
  return differences;
}

// Of what is of the size of the largest number. A GPU may compute in TF32.
double RoundingOfOutputs(const MicroBatch::Setting& setting) {
  if (IsHalf(FloatTypeOf(setting.model))) return 0.1;
  return setting.device.is_cpu() ? 1e-3 : 0.02;
}

double MostOf(const at::Tensor& tensor) {
  return tensor.numel() == 0 ? 0 : tensor.abs().max().item<double>();
}

// Undefined where a row alone does not ask for it.
at::Tensor AloneOf(const std::vector<RowsRun>& alone, std::size_t pass, const std::string& output) {
  const ModelOutputs &first = alone[0].outputs[pass], &second = alone[1].outputs[pass];
  if (first.count(output) == 0 || second.count(output) == 0) return {};
  return JoinRows({first.at(output), second.at(output)});
}

// Whether outputs that have other things than rows in front have them row by row.
bool IsRowByRow(const MicroBatch::Setting& setting, const std::vector<RowsRun>& alone,
                const RowsRun& together) {
  for (const TensorSpec& declared : setting.model.spec().outputs) {
    if (declared.dimensions.size() == 0 || declared.dimensions[0] == "rows") continue;
    for (std::size_t i = 0; i < together.outputs.size(); ++i) {
      const auto found = together.outputs[i].find(declared.name);
      if (found == together.outputs[i].end() || !found->second.is_floating_point()) continue;
      const at::Tensor joined = AloneOf(alone, i, found->first);
      if (!joined.defined() || joined.sizes() != found->second.sizes() ||
          MostOf(joined.sub(found->second)) > RoundingOfOutputs(setting) * MostOf(joined))
        return false;
    }
  }
  return true;
}

std::vector<std::string> CompareOutputs(const MicroBatch::Setting& setting, const Batch& two_rows,
                                        const std::vector<RowsRun>& alone, const RowsRun& together,
                                        const LossCheck& losses) {
  std::vector<std::string> differences;
  for (std::size_t i = 0; i < together.outputs.size(); ++i) {
    for (const auto& [name, output] : together.outputs[i]) {
      const at::Tensor counts = losses.Counts(i, name);
      if (!counts.defined() || !output.is_floating_point() || output.sizes() != counts.sizes()) continue;
      const at::Tensor joined = AloneOf(alone, i, name), order = losses.OrderOf(i, name);
      if (!joined.defined()) continue;
      const double apart = MostOf(output.sub(InOrder(joined, order)).mul(InOrder(counts, order)));
      const double most = MostOf(output);
      if (!std::isfinite(apart) || apart <= RoundingOfOutputs(setting) * most + kRounding) continue;
      const std::int64_t row = two_rows.rows().begin;
      differences.push_back(
          "pass '" + setting.task.variant().passes[i].name + "' got other values as the model's '" + name +
          "' for the rows " + std::to_string(row) + " and " + std::to_string(row + 1) +
          " together than for each alone (by up to " + c10::str(apart) + ", of at most " + c10::str(most) +
          "); a row must not depend on the rows beside it: look for a mean, norm or softmax over all rows, "
          "in "
          "the model (a batch norm, an attention without a mask) or in what the pass hands it");
    }
  }
  return differences;
}

}  // namespace

RowsRun RunRows(const MicroBatch::Setting& setting, const Batch& rows) {
  const std::vector<PassInfo>& passes = setting.task.variant().passes;
  MicroBatch micro(setting, rows);
  RowsRun run = EmptyRun(passes.size());
  for (std::size_t i = 0; i < passes.size(); ++i) RunPass(micro, passes[i], i, run);
  return run;
}

std::vector<std::string> CompareRepeat(const MicroBatch::Setting& setting, const Batch& one_row,
                                       const std::vector<Batch>& other_rows, const PassValues& first,
                                       AloneRuns& alone) {
  const at::NoGradGuard no_graph;
  const std::vector<PassInfo>& passes = setting.task.variant().passes;
  const Batch* other = other_rows.empty() ? nullptr : other_rows.data();
  const PassValues second = RunAfter(setting, one_row, other, first, alone);
  const Rounding rounding = RoundingOf(FloatTypeOf(setting.model));
  std::vector<std::string> differences =
      Differences(passes, first, second, [&](const at::Tensor& a, const at::Tensor& b) {
        if (!a.is_floating_point() || a.sizes() != b.sizes()) return SameBytes(a, b);
        return at::allclose(a, b, rounding.relative, rounding.absolute, /*equal_nan=*/true);
      });
  if (!differences.empty() || !setting.device.is_cpu() || other_rows.size() < 2) return differences;
  if (Differences(passes, first, second, SameBytes).empty()) return {};
  return Differences(passes, second, RunAfter(setting, one_row, &other_rows[1], first, alone), SameBytes);
}

std::vector<std::string> CompareTogether(const MicroBatch::Setting& setting, const Batch& few_rows,
                                         AloneRuns& known, bool thorough, Judged& judged) {
  const at::NoGradGuard no_graph;
  std::vector<std::int64_t> all(static_cast<std::size_t>(few_rows.size()));
  std::iota(all.begin(), all.end(), 0);
  const Batch before = few_rows.Take(all), rows = few_rows.To(setting.device);
  const std::vector<std::int64_t> versions = Versions(setting);
  std::vector<RowsRun> alone;
  std::vector<RowOutputs> outputs;
  for (std::int64_t row = 0; row < rows.size(); ++row) {
    auto run = known.extract(rows.rows().begin + row);
    alone.push_back(run ? std::move(run.mapped()) : RunRows(setting, rows.Slice(row, 1)));
    outputs.push_back(alone.back().outputs);
    if (row > 0 && NumbersOf(outputs[0]) * (row + 2) > kMostOutputs) break;
    if (row > 0 && !thorough && !LossCheck::IsCheap(outputs[0])) break;
  }
  known.clear();
  const Batch pair = rows.Slice(0, 2);
  const RowsRun together = RunRows(setting, pair);
  if (const std::string written = WrittenTo(before, rows); !written.empty()) return {written};
  if (Versions(setting) != versions)
    return {"Run changed a constant in place, which every row reads; make a new tensor (sub() for sub_())"};
  LossCheck losses(setting, rows, outputs, IsRowByRow(setting, alone, together), thorough);
  std::vector<std::string> differences = losses.Compare();
  judged.Add(losses.judged());
  if (differences.empty()) differences = CompareOutputs(setting, pair, alone, together, losses);
  if (differences.empty()) differences = CompareSums(setting, pair, alone, together);
  return differences;
}

std::vector<std::string> CompareUnlike(const MicroBatch::Setting& setting, const Batch& rows,
                                       const std::vector<std::int64_t>& numbers, bool thorough,
                                       Judged& judged) {
  const at::NoGradGuard no_graph;
  const Batch here = rows.To(setting.device);
  std::vector<RowOutputs> outputs;
  for (std::int64_t row = 0; row < here.size(); ++row) {
    outputs.push_back(RunRows(setting, here.Slice(row, 1)).outputs);
    if (NumbersOf(outputs[0]) * (row + 2) > kMostOutputs) break;
  }
  if (outputs.size() < 2) return {};
  LossCheck losses(setting, here, outputs, judged.row_by_row, thorough, numbers);
  std::vector<std::string> differences = losses.CompareUnlike();
  judged.Add(losses.judged());
  return differences;
}

}  // namespace medley
