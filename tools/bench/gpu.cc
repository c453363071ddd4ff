// Attention by each kind of mask, and each fused kernel beside the operators that it stands for: a line of
// JSON each, with which kernels ran, how long, and how far from float64 they are. For tools/gpu-check.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include <medley/base/error.h>
#include <medley/model/blocks/attention.h>
#include <medley/model/blocks/kernel_check.h>
#include <medley/model/device.h>
#include <medley/model/float_type.h>
#include <medley/model/gpu_kernels.h>
#include <medley/model/gpu_profile.h>

namespace medley {
namespace {

using Json = nlohmann::ordered_json;
using Tensors = std::vector<at::Tensor>;

constexpr at::ScalarType kTypes[] = {at::kFloat, at::kBFloat16, at::kHalf};

void Say(const Json& json) {
  std::printf("%s\n", json.dump().c_str());
  std::fflush(stdout);
}

// Of one call: milliseconds, launches, and the kernels, by time. On a GPU its own time; elsewhere the
// clock's.
Json Cost(c10::Device device, int times, const std::function<void()>& call) {
  call(), call();
  if (!device.is_cuda()) times = 1;
  GpuProfile profile;
  const auto begin = std::chrono::steady_clock::now();
  if (device.is_cuda()) {
    GpuProfiler profiler(device);
    for (int i = 0; i < times; ++i) call();
    profile = profiler.Stop();
  } else {
    call();
  }
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - begin;
  Json json = ToJson(profile), cost;
  cost["ms"] = (profile.launches > 0 ? profile.busy : spent.count()) / times;
  cost["launches"] = static_cast<double>(profile.launches + profile.copies) / times;
  cost["kernels"] = Json::array();
  for (const Json& kernel : json["kernels"]) cost["kernels"].push_back(kernel["name"]);
  return cost;
}

// Results and gradients of leaves.
Tensors WithGradients(const Tensors& leaves, const at::Tensor& gradient,
                      const std::function<at::Tensor(const Tensors&)>& call) {
  const at::Tensor y = call(leaves);
  Tensors all = torch::autograd::grad({y}, leaves, {gradient.to(y.scalar_type())});
  all.push_back(y.detach());
  return all;
}

// The largest error, relative to a number and the root mean square of its like.
double Away(const Tensors& found, const Tensors& exact) {
  double most = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const at::Tensor apart = (found[i].to(at::kDouble) - exact[i]).abs_();
    const double error = (apart / (exact[i].abs() + exact[i].square().mean().sqrt())).max().item<double>();
    most = std::max(most, std::isfinite(error) ? error : std::numeric_limits<double>::max());
  }
  return most;
}

Tensors LeavesOf(const Tensors& values, at::ScalarType type) {
  Tensors leaves;
  for (const at::Tensor& value : values) leaves.push_back(value.to(type).detach().requires_grad_());
  return leaves;
}

struct MaskSizes {
  std::int64_t rows, heads, key_heads, queries, keys, dim;
};

// What hides the keys from `queries` on, or those behind a row's length.
AttentionMask MaskOf(const std::string& kind, const MaskSizes& sizes, const at::Tensor& like,
                     AttentionKind attention) {
  if (kind == "none") return {};
  if (kind != "lengths")
    return AttentionMask::Causal(sizes.queries, sizes.keys, like.options().requires_grad(false), attention);
  const at::Tensor lengths = at::arange(sizes.rows).remainder(sizes.keys) + 1;
  const at::Tensor sees =
      at::arange(sizes.keys).view({1, 1, 1, -1}).lt(lengths.view({-1, 1, 1, 1})).to(like.device());
  return AdditiveMask(sees, like);
}

// Against plain operators in float64, which keep all scores; those in the same type say what is near enough.
void TryMask(c10::Device device, const std::string& kind, MaskSizes sizes) {
  if (kind != "causal") sizes.keys += sizes.keys / 4 + 3;  // a prefix; of a width that divides by nothing
  const auto random = [&](std::int64_t heads, std::int64_t n) {
    return at::randn({sizes.rows, heads, n, sizes.dim}).to(device);
  };
  const Tensors wide = {random(sizes.heads, sizes.queries), random(sizes.key_heads, sizes.keys),
                        random(sizes.key_heads, sizes.keys)};
  const at::Tensor gradient = at::randn({sizes.rows, sizes.queries, sizes.heads * sizes.dim}).to(device);
  for (const at::ScalarType type : kTypes) {
    const Tensors given = LeavesOf(wide, type);
    const auto run = [&](at::ScalarType in, AttentionKind attention, const AttentionMask& mask) {
      return WithGradients(LeavesOf(given, in), gradient.to(type),
                           [&](const Tensors& x) { return Attend(x[0], x[1], x[2], mask, attention); });
    };
    const auto plainly = [&](at::ScalarType in) {
      const at::Tensor like = at::empty({0}, at::TensorOptions(device).dtype(in));
      return run(in, AttentionKind::kEager, MaskOf(kind, sizes, like, AttentionKind::kEager));
    };
    const AttentionMask mask = MaskOf(kind, sizes, given[0], AttentionKind::kFused);
    const Tensors exact = plainly(at::kDouble);
    Json json{{"mask", kind},
              {"type", c10::toString(type)},
              {"queries", sizes.queries},
              {"keys", sizes.keys},
              {"error", Away(run(type, AttentionKind::kFused, mask), exact)},
              {"plain_error", Away(plainly(type), exact)}};
    json.update(Cost(device, 10, [&] { run(type, AttentionKind::kFused, mask); }));
    Say(json);
  }
}

void TryMasks(c10::Device device, bool is_tiny) {
  const MaskSizes sizes = is_tiny ? MaskSizes{2, 4, 2, 12, 12, 16} : MaskSizes{16, 16, 8, 512, 512, 128};
  for (const char* const kind : {"causal", "prefix", "none", "lengths"}) TryMask(device, kind, sizes);
}

// A kernel in one shape, and how many times a number of its largest tensor is read or written, there and
// back.
struct FusedUse {
  FusedKernel kernel;
  const char* name;
  Tensors inputs;
  int passes;
  std::function<at::Tensor(const Tensors&)> call;
};

std::vector<FusedUse> UsesOf(const KernelShapes& shapes, std::int64_t lines, std::int64_t items,
                             at::ScalarType type, c10::Device device) {
  const auto random = [&](at::IntArrayRef sizes) { return at::randn(sizes).to(device, type); };
  const auto [heads, dim] = shapes.heads.front();
  const RopeTables turns =
      RopeTurns(MakeRopeTables(lines, dim, 1e6, at::TensorOptions(device).dtype(AtLeastFloat(type))), heads);
  const at::Tensor words = at::randint(shapes.words, {items}, at::TensorOptions(at::kLong)).to(device);
  return {{FusedKernel::kNorm,
           "norm",
           {random({lines, shapes.norms.front()}), random({shapes.norms.front()})},
           5,
           [](const Tensors& x) { return RmsNorm(x[0], x[1], 1e-6); }},
          {FusedKernel::kNorm,
           "norm with turns",
           {random({1, lines, heads * dim}), random({dim})},
           5,
           [=](const Tensors& x) { return HeadNormRope(x[0], x[1], turns, 1e-6); }},
          {FusedKernel::kGated,
           "gated",
           {random({lines, shapes.gated}), random({lines, shapes.gated})},
           8,
           [](const Tensors& x) { return SwiGlu(x[0], x[1]); }},
          {FusedKernel::kLosses, "losses", {random({items, shapes.words})}, 3, [=](const Tensors& x) {
             return IsFused(FusedKernel::kLosses, x[0])
                        ? FusedLosses(x[0], {.words = words})
                        : LossesOfLogits(x[0].to(AtLeastFloat(x[0].scalar_type())), {.words = words});
           }}};
}

void TryKernels(c10::Device device, bool is_tiny) {
  if (const std::string& problem = KernelsProblem(device); !problem.empty()) throw Error(problem);
  const KernelShapes shapes =
      is_tiny
          ? KernelShapes{.norms = {64}, .heads = {{4, 16}}, .norms_heads = true, .gated = 160, .words = 300}
          : KernelShapes{.norms = {1024},
                         .heads = {{16, 128}, {8, 128}},
                         .norms_heads = true,
                         .gated = 3072,
                         .words = 151936};
  const std::int64_t lines = is_tiny ? 8 : 8192, items = is_tiny ? 8 : 512;
  for (const at::ScalarType type : kTypes) {
    const KernelVerdicts verdicts = CheckKernels(shapes, type, device);
    for (const FusedUse& use : UsesOf(shapes, lines, items, type, device)) {
      const KernelVerdict& verdict = verdicts.of[static_cast<int>(use.kernel)];
      const Tensors leaves = LeavesOf(use.inputs, type);
      const at::Tensor gradient = at::randn_like(use.call(leaves).detach());
      const auto cost = [&](bool by_kernel) {
        FusedKernels kernels{.device = device};
        std::fill(std::begin(kernels.used), std::end(kernels.used), by_kernel);
        UseKernels(kernels);
        const Json json = Cost(device, 10, [&] { WithGradients(leaves, gradient, use.call); });
        UseKernels({});
        return json;
      };
      const Json kernel = cost(true), operators = cost(false);
      const double bytes = static_cast<double>(use.passes * leaves[0].numel() * leaves[0].element_size());
      Say({{"kernel", use.name},
           {"type", c10::toString(type)},
           {"used", verdict.used},
           {"error", verdict.error},
           {"tolerance", verdict.tolerance},
           {"what", verdict.what},
           {"ms", kernel["ms"]},
           {"gigabytes_per_second", bytes / kernel["ms"].get<double>() / 1e6},
           {"launches", kernel["launches"]},
           {"kernels", kernel["kernels"]},
           {"operators_ms", operators["ms"]},
           {"operators_launches", operators["launches"]}});
    }
  }
}

}  // namespace
}  // namespace medley

int main(int argc, char** argv) try {
  const std::string what = argc > 1 ? argv[1] : "", size = argc > 3 ? argv[3] : "";
  if (argc != 4 || (what != "masks" && what != "fused") || (size != "tiny" && size != "full")) {
    std::fprintf(stderr, "usage: medley_bench_gpu masks|fused cuda|cpu tiny|full\n");
    return 2;
  }
  const c10::Device device = medley::OpenDevice(argv[2]);
  if (what == "masks") {
    medley::TryMasks(device, size == "tiny");
  } else {
    medley::TryKernels(device, size == "tiny");
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "medley_bench_gpu: %s\n", error.what());
  return 1;
}
