// Two chains of operators of the agent against the forms that they replaced, forward and backward, in turn in
// one process.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include <medley/model/agent/agent_config.h>
#include <medley/model/agent/vision.h>
#include <medley/model/blocks/operators.h>

#include "tools/bench/bench.h"

namespace medley {
namespace {

constexpr std::int64_t kRows = 48, kLength = 100;  // of position_qa in the quickstart, text and picture

using Fn = std::function<at::Tensor()>;

double Milliseconds(const std::function<void()>& fn) {
  const auto start = std::chrono::steady_clock::now();
  fn();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

void Compare(const char* name, int calls, const Fn& before, const Fn& now) {
  const Fn* ways[] = {&before, &now};
  std::vector<double> forward[2], whole[2], ratios;
  const at::Tensor gradient = at::randn_like(now());
  for (int i = -10; i < calls; ++i) {  // ten to warm up
    for (int way = 0; way < 2; ++way) {
      at::Tensor y;
      const double there = Milliseconds([&] { y = (*ways[way])(); });
      const double back = Milliseconds([&] { y.backward(gradient); });
      if (i < 0) continue;
      forward[way].push_back(there);
      whole[way].push_back(there + back);
    }
    if (i >= 0) ratios.push_back(whole[0].back() / whole[1].back());
  }
  const double difference = (before() - now()).abs().max().item<double>();
  std::printf("%-14s forward %6.2f ms %6.2f ms   with backward %6.2f ms %6.2f ms %5.2fx   differs by %.1g\n",
              name, bench::Median(forward[0]), bench::Median(forward[1]), bench::Median(whole[0]),
              bench::Median(whole[1]), bench::Median(ratios), difference);
}

// Normed behind the transpose, halves turned one by one.
at::Tensor TurnHalves(const at::Tensor& x, const at::Tensor& weight, const RopeTables& turns,
                      double epsilon) {
  const std::int64_t dim = weight.size(0), half = dim / 2;
  const at::Tensor normed = RmsNorm(x.view({x.size(0), x.size(1), -1, dim}).transpose(1, 2), weight, epsilon);
  const at::Tensor a = normed.narrow(-1, 0, half), b = normed.narrow(-1, half, half);
  return at::cat({a * turns.cos - b * turns.sin, b * turns.cos + a * turns.sin}, -1);
}

void CompareTurns(int calls, const AgentConfig::Language& config) {
  const std::int64_t heads = config.heads, dim = config.head_dim, width = heads * dim;
  const at::Tensor x = at::randn({kRows, kLength, width}).requires_grad_();
  const at::Tensor weight = at::randn({dim}).requires_grad_();
  const RopeTables halves = MakeRopeTables(kLength, dim, config.rope_base, at::kFloat);
  const RopeTables turns = RopeTurns(halves, heads);
  Compare(
      "HeadNormRope", calls, [&] { return TurnHalves(x, weight, halves, config.rms_epsilon); },
      [&] { return HeadNormRope(x, weight, turns, config.rms_epsilon); });
}

void ComparePictures(int calls, const AgentConfig& config) {
  const std::int64_t width = config.language.hidden, size = config.image.size, patch = config.image.patch;
  const double mean = 1, scale = 3;  // as in configs/models/agent-tiny.json
  const at::Tensor picture = at::rand({kRows, 3, size, size});
  const at::Tensor weight = at::randn({width, 3, patch, patch}).requires_grad_();
  const at::Tensor bias = at::randn({width}).requires_grad_();
  const at::Tensor positions = at::randn({size / patch * (size / patch), width});
  const auto scaled_first = [&] {
    const at::Tensor patches = ToPatches(picture, patch) * scale + -mean * scale;
    return at::linear(patches, weight.flatten(1), bias) + positions;
  };
  Compare("EmbedPatches", calls, scaled_first,
          [&] { return EmbedPatches(picture, weight, bias, positions, mean, scale); });
}

}  // namespace
}  // namespace medley

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: medley_bench_operators CALLS\n");
    return 2;
  }
  const medley::AgentConfig config;
  std::printf("medians of %s calls of each, before and now\n", argv[1]);
  medley::CompareTurns(std::atoi(argv[1]), config.language);
  medley::ComparePictures(std::atoi(argv[1]), config);
  return 0;
}
