// What an update costs with moments in float, bf16 and eight bits: of the parameters of a run's model, in
// turns in one process, by one optimizer each over the same weights.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/run/run.h>
#include <medley/update/optimizer.h>

#include "tools/bench/bench.h"

namespace medley {
namespace {

constexpr int kRounds = 9;

double Milliseconds(const std::function<void()>& fn) {
  const auto start = std::chrono::steady_clock::now();
  fn();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

// Parameters and nothing else.
class Parameters : public bench::ModelView {
 public:
  Parameters(const Model& model, std::vector<Parameter> list) : ModelView(model), list_(std::move(list)) {}
  ModelOutputs Forward(const ModelInputs&, const WantedOutputs&, ForwardContext&) const override {
    throw Error("these are parameters alone");
  }
  const std::vector<Parameter>& parameters() const override { return list_; }

 private:
  std::vector<Parameter> list_;
};

// In float, one of so many of the model's.
std::vector<Parameter> Values(const Model& shapes, std::size_t one_of) {
  std::vector<Parameter> list;
  for (std::size_t i = 0; i < shapes.parameters().size(); i += one_of) {
    const Parameter& parameter = shapes.parameters()[i];
    const at::Tensor values = at::randn(parameter.tensor.sizes(), at::kFloat).mul_(0.02);
    list.push_back({.name = parameter.name, .tensor = values.set_requires_grad(true)});
  }
  return list;
}

struct Times {
  std::vector<double> update, ratio;
};

// The norm of the gradients is read by each in the same way; what is left is the update.
double UpdateTime(const std::vector<Parameter>& list, const std::vector<at::Tensor>& gradients,
                  Optimizer& optimizer) {
  for (std::size_t i = 0; i < list.size(); ++i) at::Tensor(list[i].tensor).mutable_grad() = gradients[i];
  const double norm = Milliseconds([&] { optimizer.GradientIsFinite(); });
  return Milliseconds([&] { optimizer.Step(1e-6); }) - norm;
}

void Compare(const Model& shapes, std::size_t one_of) {
  const Parameters model(shapes, Values(shapes, one_of));
  std::vector<at::Tensor> gradients;
  std::int64_t numbers = 0;
  for (const Parameter& parameter : model.parameters()) {
    gradients.push_back(at::randn(parameter.tensor.sizes(), at::kFloat).mul_(1e-4));
    numbers += parameter.tensor.numel();
  }
  const auto& names = EnumNames<MomentsKind>::kNames;
  std::vector<Optimizer> optimizers;
  optimizers.reserve(names.size());
  for (std::size_t kind = 0; kind < names.size(); ++kind) {
    OptimizerConfig config;
    config.moments = static_cast<MomentsKind>(kind);
    config.clip_norm = 0;
    optimizers.emplace_back(model, config);
  }
  std::vector<Times> times(names.size());
  for (int round = -1; round < kRounds; ++round) {
    double of_float = 0;
    for (std::size_t kind = 0; kind < names.size(); ++kind) {
      const double update = UpdateTime(model.parameters(), gradients, optimizers[kind]);
      if (kind == 0) of_float = update;
      if (round < 0) continue;  // one to warm up
      times[kind].update.push_back(update), times[kind].ratio.push_back(update / of_float);
    }
  }
  std::printf("%lld numbers, %d threads\n", static_cast<long long>(numbers), at::get_num_threads());
  for (std::size_t kind = 0; kind < names.size(); ++kind)
    std::printf("%-5s  state %8.1f MiB  update %8.1f ms, %5.2f ns a number  %.2f of float's time\n",
                std::string(names[kind]).c_str(),
                static_cast<double>(optimizers[kind].StateBytes()) / (1 << 20),
                bench::Median(times[kind].update),
                1e6 * bench::Median(times[kind].update) / static_cast<double>(numbers),
                bench::Median(times[kind].ratio));
}

}  // namespace
}  // namespace medley

int main(int argc, char** argv) {
  try {
    if (argc < 3) {
      std::fprintf(stderr,
                   "usage: medley_bench_moments CONFIG ONE_OF [key=value...]\n"
                   "ONE_OF: 1 for all of the model's parameters, 4 for each fourth, where memory is short\n");
      return 2;
    }
    const auto run =
        medley::BuildRun(medley::CheckInputs(argv[1], {argv + 3, argv + argc}, {}), medley::Purpose::kSample);
    const auto shapes = run->MakeModel(0, at::kMeta);
    medley::Compare(*shapes, std::stoul(argv[2]));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
