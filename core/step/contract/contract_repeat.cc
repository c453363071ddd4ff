#include <medley/step/contract/contract_repeat.h>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>

namespace medley {
namespace {

void RunOtherRow(const MicroBatch::Setting& setting, const Batch& row) {
  MicroBatch other(setting, row);
  for (const PassInfo& pass : setting.task.variant().passes) other.RunPass(pass);
}

std::string Difference(const std::string& pass, const std::string& what) {
  return "pass '" + pass + "' gave another value for " + what +
         " after other rows, with the passes in the opposite order, so that no mode but joint would be "
         "right: "
         "it depends on what an earlier call left (a member, a static variable); a task keeps nothing "
         "between "
         "calls, passes hand tensors over with Carry and Carried";
}

bool Same(const at::Tensor& first, const at::Tensor& second) {
  return at::allclose(first, second, /*rtol=*/1e-4, /*atol=*/1e-6, /*equal_nan=*/true);
}

}  // namespace

std::vector<std::string> CompareRepeat(const MicroBatch::Setting& setting, const Batch& one_row,
                                       const Batch* other_row, const PassValues& first) {
  const at::NoGradGuard no_graph;
  if (other_row != nullptr) RunOtherRow(setting, *other_row);
  MicroBatch again(setting, one_row);
  for (const auto& [carry, value] : first.carries) again.HandCarry(carry, value);
  std::vector<std::string> differences;
  const std::vector<PassInfo>& passes = setting.task.variant().passes;
  for (std::size_t i = passes.size(); i-- > 0;) {
    const PassInfo& pass = passes[i];
    for (const std::string& carry : pass.carries) again.TakeCarry(carry);
    const Sums second = again.RunPass(pass);
    for (const auto& [term, sum] : first.sums[i]) {
      const auto found = second.find(term);
      if (found == second.end() || !Same(sum, found->second))
        differences.push_back(Difference(pass.name, "the term '" + term + "'"));
    }
    for (const std::string& carry : pass.carries) {
      if (!Same(first.carries.at(carry), again.carries().at(carry)))
        differences.push_back(Difference(pass.name, "the carry '" + carry + "'"));
    }
  }
  return differences;
}

}  // namespace medley
