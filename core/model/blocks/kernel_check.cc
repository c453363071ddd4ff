#include <medley/model/blocks/kernel_check.h>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include <medley/base/error.h>
#include <medley/model/float_type.h>
#include <medley/model/gpu_kernels.h>

namespace medley {
namespace {

using nlohmann::ordered_json;
using torch::autograd::variable_list;

constexpr std::int64_t kMostRows = 64, kMostBytes = std::int64_t{64} << 20;
constexpr double kMostRoundings = 256;
constexpr const char *kWeight = "the weight", *kTable = "the table";

// One use of a kernel: results of inputs, which have gradients where they are floating.
struct Use {
  FusedKernel kernel;
  std::string words;               // "8 heads of 64"
  std::vector<std::string> names;  // of the inputs
  variable_list inputs;            // on the CPU, in the type that is tried
  std::function<at::Tensor(const variable_list&)> results;
};

class Uses {
 public:
  Uses(const KernelShapes& shapes, at::ScalarType dtype)
      : dtype_(dtype), generator_(at::detail::createCPUGenerator(/*seed=*/0x6b65726e656c73)) {
    for (const std::int64_t width : shapes.norms) AddNorm(width);
    for (const KernelShapes::Heads& heads : shapes.heads) AddTurned(heads, shapes.norms_heads);
    if (shapes.gated > 0) AddGated(shapes.gated);
    if (shapes.words > 0) AddLosses(shapes.words);
    if (!list_.empty()) AddAdamW();
  }
  const std::vector<Use>& list() const { return list_; }
  at::Tensor Random(at::IntArrayRef sizes) {
    return at::randn(sizes, generator_, at::TensorOptions(at::kFloat)).to(dtype_);
  }

 private:
  static std::int64_t Rows(std::int64_t bytes) {
    return std::clamp<std::int64_t>(kMostBytes / bytes, 1, kMostRows);
  }

  void AddNorm(std::int64_t width) {
    list_.push_back({FusedKernel::kNorm,
                     "lines of " + std::to_string(width),
                     {"x", kWeight},
                     {Random({Rows(24 * width), width}), Random({width})},
                     [](const variable_list& in) { return RmsNorm(in[0], in[1], 1e-6); }});
  }
  void AddTurned(const KernelShapes::Heads& heads, bool norms) {
    const std::int64_t positions = 16, rows = 4, width = heads.count * heads.dim;
    const auto turns = [=](const at::Tensor& like) {
      const auto lines =
          MakeRopeTables(positions, heads.dim, 1e4,
                         like.options().requires_grad(false).dtype(AtLeastFloat(like.scalar_type())));
      return RopeTurns(lines, heads.count);
    };
    variable_list inputs = {Random({rows, positions, width})};
    if (norms) inputs.push_back(Random({heads.dim}));
    list_.push_back({FusedKernel::kNorm,
                     std::to_string(heads.count) + " heads of " + std::to_string(heads.dim),
                     {"x", kWeight},
                     std::move(inputs),
                     [=](const variable_list& in) {
                       return norms ? HeadNormRope(in[0], in[1], turns(in[0]), 1e-6)
                                    : HeadRope(in[0], turns(in[0]));
                     }});
  }
  void AddGated(std::int64_t width) {
    const std::int64_t rows = Rows(24 * width);
    list_.push_back({FusedKernel::kGated,
                     "lines of " + std::to_string(width),
                     {"the gate", "the other factor"},
                     {Random({rows, width}), Random({rows, width})},
                     [](const variable_list& in) { return SwiGlu(in[0], in[1]); }});
  }
  // Of logits that are there, and in pieces in front of a frozen and a trained table.
  void AddLosses(std::int64_t words) {
    constexpr std::int64_t kHidden = 16;
    const std::int64_t rows = Rows(48 * words);
    const at::Tensor targets = at::randint(words, {rows}, generator_, at::TensorOptions(at::kLong)),
                     smoothing = at::rand({rows}, generator_, at::TensorOptions(at::kFloat)).mul_(0.2);
    const std::string of = std::to_string(words) + " words";
    const auto targets_of = [](const variable_list& in) {
      return LossTargets{.words = in[0], .smoothing = in[1].detach()};
    };
    list_.push_back({FusedKernel::kLosses,
                     of,
                     {"the words", "the smoothing", "the logits"},
                     {targets, smoothing, Random({rows, words})},
                     [=](const variable_list& in) {
                       return IsFused(FusedKernel::kLosses, in[2])
                                  ? FusedLosses(in[2], targets_of(in))
                                  : LossesOfLogits(in[2].to(AtLeastFloat(in[2].scalar_type())),
                                                   targets_of(in));
                     }});
    const at::Tensor hidden = Random({rows, kHidden}), table = Random({words, kHidden});
    for (const bool trains : {false, true}) {
      list_.push_back({FusedKernel::kLosses,
                       of + " in pieces" + (trains ? "" : ", of a frozen table"),
                       {"the words", "the smoothing", "the states", kTable},
                       {targets, smoothing, hidden, table},
                       [=](const variable_list& in) {
                         const LossHead head{.table = trains ? in[3] : in[3].detach(),
                                             .bytes = 48 * rows * words};
                         return PiecewiseLosses(in[2], targets_of(in), head);
                       }});
    }
  }

  // Of two tensors, whose sizes divide by nothing, in their third update; and the weights rounded.
  void AddAdamW() {
    const auto wide = [&](std::int64_t size) { return Random({size}).to(at::kFloat); };
    const variable_list inputs = {wide(70001), wide(70001), wide(70001), wide(70001).square_(),
                                  wide(13),    wide(13),    wide(13),    wide(13).square_()};
    const std::vector<std::string> names = {"weights",     "gradients",     "means",     "squares",
                                            "few weights", "few gradients", "few means", "few squares"};
    for (const bool rounded : {false, true}) {
      const at::ScalarType half = dtype_;
      if (rounded && !IsHalf(half)) continue;
      list_.push_back({FusedKernel::kAdamW, rounded ? "rounded weights" : "weights and moments", names,
                       inputs, [=](const variable_list& in) { return Updated(in, rounded, half); }});
    }
  }
  static at::Tensor Updated(const variable_list& in, bool rounded, at::ScalarType half) {
    const at::NoGradGuard no_graph;
    const at::TensorOptions options = in[0].options().requires_grad(false);
    AdamWLists lists;
    for (std::size_t i = 0; i < in.size(); i += 4) {
      lists.weights.push_back(in[i].detach().clone()), lists.gradients.push_back(in[i + 1].detach());
      lists.means.push_back(in[i + 2].detach().clone()), lists.squares.push_back(in[i + 3].detach().clone());
      lists.counts.push_back(at::full(
          {}, 3.0,
          options.dtype(AtLeastFloat(in[0].scalar_type()) == at::kDouble ? at::kDouble : at::kFloat)));
      lists.halves.push_back(rounded ? at::empty(in[i].sizes(), options.dtype(half)) : at::Tensor());
    }
    if (IsFused(FusedKernel::kAdamW, in[0])) {
      FusedAdamW(lists, {.learning_rate = at::full({}, 1e-2, options),
                         .gradient_scale = at::full({}, 0.5, options),
                         .beta1 = 0.9,
                         .beta2 = 0.95,
                         .epsilon = 1e-8,
                         .weight_decay = 0.1});
    } else {
      for (at::Tensor& gradient : lists.gradients) gradient = gradient * 0.5;
      at::_fused_adamw_(lists.weights, lists.gradients, lists.means, lists.squares, {}, lists.counts, 1e-2,
                        0.9, 0.95, 0.1, 1e-8, /*amsgrad=*/false, /*maximize=*/false);
      const bool is_exact = in[0].scalar_type() == at::kDouble;
      for (std::size_t i = 0; rounded && i < lists.halves.size(); ++i)
        lists.halves[i] = is_exact ? lists.weights[i] : lists.weights[i].to(half);
    }
    if (rounded) return at::cat({lists.halves[0], lists.halves[1]});
    return at::cat({lists.weights[0], lists.weights[1], lists.means[0], lists.means[1], lists.squares[0],
                    lists.squares[1]});
  }

  at::ScalarType dtype_;
  at::Generator generator_;
  std::vector<Use> list_;
};

// A use's results and gradients, in a type on a device; `gradient`: of the results.
variable_list Run(const Use& use, c10::Device device, at::ScalarType dtype, at::Tensor& gradient,
                  Uses& uses) {
  const at::AutoGradMode with_gradients(true);
  variable_list inputs, floating;
  for (std::size_t i = 0; i < use.inputs.size(); ++i) {
    const at::Tensor& given = use.inputs[i];
    const bool is_float = given.is_floating_point(), is_wide = given.scalar_type() == at::kFloat;
    at::Tensor input = given.to(device);
    // What is float beside a half type stays so, but for the exact run.
    if (is_float && (!is_wide || dtype == at::kDouble)) input = input.to(dtype);
    inputs.push_back(is_float ? input.detach().requires_grad_() : input);
    if (!is_float) continue;
    floating.push_back(inputs.back());
    const bool is_parameter = use.names[i] == kWeight || use.names[i] == kTable;
    if (is_parameter) inputs.back().set_grad_dtype(AtLeastFloat(dtype));  // as ParameterSet has it
  }
  const at::Tensor y = use.results(inputs);
  if (!gradient.defined()) gradient = uses.Random(y.sizes());
  variable_list of_inputs(floating.size());
  if (y.requires_grad())
    of_inputs = torch::autograd::grad({y}, floating, {gradient.to(y.device(), y.scalar_type())}, std::nullopt,
                                      /*create_graph=*/false, /*allow_unused=*/true);
  variable_list all = {y.detach().to(at::kCPU)};
  auto next = of_inputs.begin();
  for (const at::Tensor& one : inputs) {
    const at::Tensor found = one.is_floating_point() ? *next++ : at::Tensor();
    all.push_back(found.defined() ? found.to(at::kCPU) : at::Tensor());
  }
  return all;
}

double Away(const at::Tensor& found, const at::Tensor& exact) {
  const at::Tensor apart = (found.to(at::kDouble) - exact).abs_();
  const double error = (apart / (exact.abs() + exact.square().mean().sqrt())).max().item<double>();
  return std::isfinite(error) ? error : std::numeric_limits<double>::max();  // JSON knows no other
}

double RoundingOf(at::ScalarType type) {
  if (type == at::kBFloat16) return 0x1p-8;
  return type == at::kHalf ? 0x1p-11 : 0x1p-24;
}

// How far a result of a use is from float64.
struct Found {
  FusedKernel kernel;
  at::ScalarType type;  // the result's own
  std::string what;
  double operators, kernels;
};

void Try(const Use& use, at::ScalarType dtype, c10::Device device, Uses& uses, std::vector<Found>& found) {
  at::Tensor gradient;
  const variable_list exact = Run(use, at::kCPU, at::kDouble, gradient, uses);
  UseKernels({});
  const variable_list operators = Run(use, device, dtype, gradient, uses);
  FusedKernels all{.device = device};
  std::fill(std::begin(all.used), std::end(all.used), true);
  UseKernels(all);
  const variable_list kernels = Run(use, device, dtype, gradient, uses);
  UseKernels({});
  for (std::size_t i = 0; i < exact.size(); ++i) {
    if (!exact[i].defined()) continue;
    found.push_back({use.kernel, kernels[i].scalar_type(),
                     (i == 0 ? "the result" : "the gradient of " + use.names[i - 1]) + ", of " + use.words,
                     Away(operators[i], exact[i]), Away(kernels[i], exact[i])});
  }
}

// Twice as far as its operators, which of few numbers may be near by chance, so a few roundings always.
double Tolerance(const Found& of, at::ScalarType dtype) {
  const double few = (IsHalf(of.type) ? 2 : 16) * RoundingOf(of.type);
  return std::min(kMostRoundings * RoundingOf(dtype), std::max(2 * of.operators, few));
}

}  // namespace

bool KernelVerdicts::any() const {
  return std::any_of(std::begin(of), std::end(of), [](const KernelVerdict& one) { return one.used; });
}

bool KernelVerdicts::AreOf(at::ScalarType dtype, c10::Device device) const {
  return type == c10::toString(dtype) && card == KindOfGpu(device);
}

FusedKernels KernelVerdicts::Used(c10::Device device) const {
  FusedKernels kernels{.device = device};
  for (int i = 0; i < kFusedKernels; ++i) kernels.used[i] = of[i].used;
  return kernels;
}

std::string KernelVerdicts::Words() const {
  std::string words;
  for (int i = 0; i < kFusedKernels; ++i) {
    const KernelVerdict& one = of[i];
    if (one.used || one.what.empty()) continue;
    words += c10::str(words.empty() ? "" : "; ", "the kernel of ", EnumName(static_cast<FusedKernel>(i)),
                      " is left aside: ");
    words += one.error <= one.tolerance ? "another process found it wrong, or does not have it"
                                        : c10::str(one.what, ", is ", one.error, " from float64, where ",
                                                   one.tolerance, " would do");
  }
  return words;
}

ordered_json ToJson(const KernelVerdicts& verdicts) {
  ordered_json json = {{"type", verdicts.type}, {"card", verdicts.card}};
  for (int i = 0; i < kFusedKernels; ++i) {
    const KernelVerdict& one = verdicts.of[i];
    json[EnumName(static_cast<FusedKernel>(i))] = {
        {"used", one.used}, {"error", one.error}, {"tolerance", one.tolerance}, {"what", one.what}};
  }
  return json;
}

KernelVerdicts VerdictsIn(const ordered_json& json) {
  KernelVerdicts verdicts;
  try {
    json.at("type").get_to(verdicts.type);
    verdicts.card = json.value("card", "");
    for (int i = 0; i < kFusedKernels; ++i) {
      const auto& one = json.at(EnumName(static_cast<FusedKernel>(i)));
      verdicts.of[i] = {one.at("used").get<bool>(), one.at("error").get<double>(),
                        one.at("tolerance").get<double>(), one.at("what").get<std::string>()};
    }
  } catch (const nlohmann::json::exception& error) {
    throw InputError(std::string("the run's run.json is damaged: kernels: ") + error.what() +
                     ". Restore it, or remove \"kernels\": then they are tried anew");
  }
  return verdicts;
}

KernelVerdicts CheckKernels(const KernelShapes& shapes, at::ScalarType dtype, c10::Device device) {
  Uses uses(shapes, dtype);
  std::vector<Found> all;
  for (const Use& use : uses.list()) Try(use, dtype, device, uses, all);
  KernelVerdicts verdicts{.type = c10::toString(dtype), .card = KindOfGpu(device), .of = {}};
  for (const Found& one : all) {
    KernelVerdict& verdict = verdicts.of[static_cast<int>(one.kernel)];
    const double tolerance = Tolerance(one, dtype);
    const bool is_first = verdict.what.empty();
    verdict.used = (is_first || verdict.used) && one.kernels <= tolerance;
    if (is_first || one.kernels / tolerance > verdict.error / verdict.tolerance)
      verdict.error = one.kernels, verdict.tolerance = tolerance, verdict.what = one.what;
  }
  return verdicts;
}

}  // namespace medley
