// The losses of many items over a large vocabulary, forward and backward: piece by piece against all logits
// at once, in turns, for docs/benchmarks.md. Prints the median and the range of the ratios of each round, in
// processor time, which another program beside it hardly moves: run it with one thread.
//
//   OMP_NUM_THREADS=1 medley_bench_losses [rounds items...]

#include <ATen/ATen.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/model/blocks/item_losses.h>
#include <medley/model/blocks/language_config.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <vector>

namespace {

using medley::LossHead;
using medley::LossTargets;

struct Cost {
  double seconds = 0;
  double mib = 0;  // beside what was there
};

Cost CostOf(const std::function<at::Tensor()>& losses, const std::vector<at::Tensor>& leaves) {
  for (const at::Tensor& leaf : leaves) leaf.mutable_grad() = at::Tensor();
  const std::int64_t before = medley::ReadCpuMemory().now;
  medley::ResetCpuPeak();
  const std::clock_t begin = std::clock();
  torch::autograd::backward({losses().sum()});
  const double took = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  return {took, static_cast<double>(medley::ReadCpuMemory().peak - before) / (1 << 20)};
}

void Compare(std::int64_t words, std::int64_t width, std::int64_t items, bool trains_head,
             at::ScalarType dtype, int rounds) {
  const at::Tensor hidden = at::randn({items, width}).to(dtype).set_requires_grad(true);
  const at::Tensor table = at::randn({words, width}).mul_(0.03).to(dtype).set_requires_grad(trains_head);
  table.set_grad_dtype(at::kFloat);
  const LossTargets targets{.words = at::randint(0, words, {items}, at::kLong)};
  const LossHead head{.table = table, .bytes = medley::kLossBytes};
  const auto at_once = [&] {
    at::Tensor logits = at::linear(hidden, table);
    if (dtype != at::kFloat) logits = logits.to(at::kFloat);
    return at::cross_entropy_loss(logits, targets.words, {}, at::Reduction::Sum);
  };
  const medley::LossPieces pieces(words, head.bytes);
  const auto as_a_model = [&] {
    if (pieces.Cuts(items)) return medley::PiecewiseLosses(hidden, targets, head);
    at::Tensor logits = at::linear(hidden, table);
    if (dtype != at::kFloat) logits = logits.to(at::kFloat);
    return medley::LossesOfLogits(logits, targets);
  };
  std::vector<double> ratios;
  Cost before, now;
  for (int round = 0; round <= rounds; ++round) {
    const bool turned = round % 2 == 1;
    if (turned) now = CostOf(as_a_model, {hidden, table});
    before = CostOf(at_once, {hidden, table});
    if (!turned) now = CostOf(as_a_model, {hidden, table});
    if (round > 0) ratios.push_back(now.seconds / before.seconds);
  }
  std::sort(ratios.begin(), ratios.end());
  std::printf(
      "%5ld items, %s, %s head: %.2f of the time (%.2f to %.2f; %.2f s), %.0f MiB where it was %.0f\n", items,
      dtype == at::kFloat ? "fp32" : "bf16", trains_head ? "trained" : "frozen ", ratios[ratios.size() / 2],
      ratios.front(), ratios.back(), now.seconds, now.mib, before.mib);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  medley::InstallCpuAllocator();
  constexpr std::int64_t kWords = 151936, kWidth = 1024;  // of agent-qwen3-0.6b
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  std::vector<std::int64_t> sizes;
  for (int i = 2; i < argc; ++i) sizes.push_back(std::atoll(argv[i]));
  if (sizes.empty()) sizes = {64, 256, 1024};
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    for (const std::int64_t items : sizes) {
      for (const bool trains_head : {false, true}) Compare(kWords, kWidth, items, trains_head, dtype, rounds);
    }
  }
}
