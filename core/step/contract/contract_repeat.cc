#include <medley/step/contract/contract_repeat.h>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>

#include <medley/model/float_type.h>
#include <medley/step/contract/contract_sample.h>

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

PassValues RunAfter(const MicroBatch::Setting& setting, const Batch& one_row, const Batch* other_row,
                    const PassValues& first) {
  const std::vector<PassInfo>& passes = setting.task.variant().passes;
  if (other_row != nullptr) {
    MicroBatch other(setting, *other_row);
    for (const PassInfo& pass : passes) other.RunPass(pass);
  }
  MicroBatch again(setting, one_row);
  for (const auto& [carry, value] : first.carries) again.HandCarry(carry, value);
  PassValues values{.sums = std::vector<Sums>(passes.size()), .carries = {}};
  for (std::size_t i = passes.size(); i-- > 0;) {
    for (const std::string& carry : passes[i].carries) again.TakeCarry(carry);
    values.sums[i] = again.RunPass(passes[i]);
    for (const std::string& carry : passes[i].carries) values.carries[carry] = again.carries().at(carry);
  }
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
    for (const std::string& carry : passes[i].carries) {
      if (!same(first.carries.at(carry), second.carries.at(carry)))
        differences.push_back(Difference(passes[i].name, "the carry '" + carry + "'"));
    }
  }
  return differences;
}

}  // namespace

std::vector<std::string> CompareRepeat(const MicroBatch::Setting& setting, const Batch& one_row,
                                       const std::vector<Batch>& other_rows, const PassValues& first) {
  const at::NoGradGuard no_graph;
  const std::vector<PassInfo>& passes = setting.task.variant().passes;
  const Batch* other = other_rows.empty() ? nullptr : other_rows.data();
  const PassValues second = RunAfter(setting, one_row, other, first);
  const Rounding rounding = RoundingOf(FloatTypeOf(setting.model));
  std::vector<std::string> differences =
      Differences(passes, first, second, [&](const at::Tensor& a, const at::Tensor& b) {
        return at::allclose(a, b, rounding.relative, rounding.absolute, /*equal_nan=*/true);
      });
  if (!differences.empty() || !setting.device.is_cpu() || other_rows.size() < 2) return differences;
  if (Differences(passes, first, second, SameBytes).empty()) return {};
  return Differences(passes, second, RunAfter(setting, one_row, &other_rows[1], first), SameBytes);
}

}  // namespace medley
