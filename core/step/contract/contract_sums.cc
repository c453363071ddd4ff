#include <medley/step/contract/contract_sums.h>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <map>

namespace medley {
namespace {

constexpr double kSumShare = 0.02, kRounding = 1e-6;  // of an item

using PassSums = std::vector<std::map<std::string, double>>;  // by pass; by term

PassSums Run(const MicroBatch::Setting& setting, const Batch& rows) {
  MicroBatch micro(setting, rows);
  PassSums passes;
  for (const PassInfo& pass : setting.task.variant().passes) {
    auto& sums = passes.emplace_back();
    for (const auto& [term, sum] : micro.RunPass(pass)) sums[term] = sum.item<double>();
  }
  return passes;
}

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

}  // namespace

std::vector<std::string> CompareTogether(const MicroBatch::Setting& setting, const Batch& two_rows) {
  const at::NoGradGuard no_graph;
  const PassSums first = Run(setting, two_rows.Slice(0, 1)), second = Run(setting, two_rows.Slice(1, 1));
  const PassSums together = Run(setting, two_rows);
  std::vector<std::string> differences;
  for (const TermInfo& term : setting.task.variant().terms) {
    for (std::size_t i = 0; i < together.size() && term.weight != 0; ++i) {
      const double a = Of(first[i], term.name), b = Of(second[i], term.name), c = Of(together[i], term.name);
      if (AddsUp(c, a, b, two_rows.ItemCount(term.name))) continue;
      const std::int64_t row = two_rows.rows().begin;
      differences.push_back("pass '" + setting.task.variant().passes[i].name + "' gave for the term '" +
                            term.name + "' " + c10::str(c) + " over the rows " + std::to_string(row) +
                            " and " + std::to_string(row + 1) + " together, but " + c10::str(a) + " and " +
                            c10::str(b) +
                            " over each alone; Run returns sums, never means (at::Reduction::Sum, sum() for "
                            "mean()), and a row adds the same whatever rows are beside it");
    }
  }
  return differences;
}

}  // namespace medley
