// Forward and backward of the language of a Hugging Face folder on one batch, for tools/bench/language: a
// line of milliseconds a step, then the loss and the bytes at the widest moment beside the weights. A folder
// that is not there is made first.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include <medley/memory/cpu_allocator.h>

#include "tools/bench/published_language.h"

namespace medley {
namespace {

// Of the mean next token.
at::Tensor Loss(const Language& language, const at::Tensor& tokens) {
  ForwardContext context;
  const at::Tensor logits = language.Logits(language.Hidden(language.Embed(tokens), {}, context));
  const std::int64_t width = tokens.size(1);
  return at::cross_entropy_loss(logits.narrow(1, 0, width - 1).flatten(0, 1),
                                tokens.narrow(1, 1, width - 1).flatten());
}

void Time(const std::string& folder, bool half, std::int64_t rows, std::int64_t width, int steps) {
  InstallCpuAllocator();
  bench::MakeFolder(folder);
  bench::PublishedLanguage published(folder);
  if (half) published.set.To(at::kCPU, at::kBFloat16), published.language.To(at::kCPU, at::kBFloat16);
  const at::Tensor tokens =
      (at::arange(rows * width) * 7919).remainder(published.config.vocabulary).view({rows, width});
  const std::int64_t before = ReadCpuMemory().now;
  ResetCpuPeak();
  double loss = 0;
  for (int step = -1; step < steps; ++step) {  // one to warm up
    const auto start = std::chrono::steady_clock::now();
    const at::Tensor of_batch = Loss(published.language, tokens);
    of_batch.backward();
    const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
    loss = of_batch.item<double>();
    for (const Parameter& parameter : published.set.list()) parameter.tensor.mutable_grad().reset();
    if (step >= 0) std::printf("%.1f\n", spent.count());
  }
  std::printf("%.6f %lld\n", loss, static_cast<long long>(ReadCpuMemory().peak - before));
}

}  // namespace
}  // namespace medley

int main(int argc, char** argv) try {
  if (argc != 7) {
    std::fprintf(stderr, "usage: medley_bench_language FOLDER fp32|bf16 ROWS WIDTH STEPS THREADS\n");
    return 2;
  }
  at::set_num_threads(std::atoi(argv[6]));
  medley::Time(argv[1], std::string(argv[2]) == "bf16", std::atoi(argv[3]), std::atoi(argv[4]),
               std::atoi(argv[5]));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "medley_bench_language: %s\n", error.what());
  return 1;
}
