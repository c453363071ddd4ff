#include <medley/model/blocks/fused.h>

#include <ATen/Functions.h>
#include <torch/csrc/autograd/custom_function.h>

#include <map>
#include <mutex>
#include <optional>

#include <medley/base/error.h>
#include <medley/model/gpu_kernels.h>
#include <medley/model/leaf_gradients.h>

namespace medley {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

FusedKernels in_use;

kernels::Number NumberOf(const at::Tensor& x) {
  switch (x.scalar_type()) {
    case at::kFloat:
      return kernels::Number::kFloat;
    case at::kBFloat16:
      return kernels::Number::kBf16;
    case at::kHalf:
      return kernels::Number::kFp16;
    default:
      throw Error(c10::str("medley_kernels.so computes in float and half types, not in ", x.scalar_type()));
  }
}

// With the numbers of a line side by side.
at::Tensor InLines(const at::Tensor& x) { return x.stride(-1) == 1 ? x : x.contiguous(); }
const void* DataOf(const at::Tensor& x) { return x.defined() ? x.const_data_ptr() : nullptr; }
template <typename T>
T* DataOr(const at::Tensor& x) {
  return x.defined() ? x.mutable_data_ptr<T>() : nullptr;
}

// [rows, positions, heads, d] of a tensor that may have fewer dimensions.
struct Lines {
  explicit Lines(const at::Tensor& given) : tensor(InLines(given)) {
    if (tensor.dim() > 4) tensor = tensor.reshape({-1, 1, 1, tensor.size(-1)});
    const std::int64_t dims = tensor.dim() - 1;
    const auto size = [&](std::int64_t i) { return i < dims ? tensor.size(i) : 1; };
    const auto stride = [&](std::int64_t i) { return i < dims ? tensor.stride(i) : 0; };
    shape = {size(0), size(1), size(2), tensor.size(-1)};
    strides = {stride(0), stride(1), stride(2)};
  }
  at::Tensor tensor;
  kernels::LineShape shape{};
  kernels::LineStrides strides{};
};

// cos and sin [positions, 1 or heads, d], or with rows (or one for all) before.
kernels::Turns TurnsOf(const at::Tensor& cos, const at::Tensor& sin) {
  if (!cos.defined()) return {};
  const bool has_rows = cos.dim() == 4;
  const auto stride = [&](std::int64_t i) { return cos.size(i) == 1 ? 0 : cos.stride(i); };
  return {cos.const_data_ptr<float>(),
          sin.const_data_ptr<float>(),
          {has_rows ? stride(0) : 0, stride(has_rows ? 1 : 0), stride(has_rows ? 2 : 1)}};
}

// Which blocks of a launch have come. Made once a device, and 0 again behind each launch.
std::uint32_t* CountersOn(c10::Device device) {
  static std::mutex mutex;
  static std::map<std::string, at::Tensor> known;
  const std::lock_guard lock(mutex);
  at::Tensor& counters = known[device.str()];
  if (!counters.defined()) counters = at::zeros({kernels::kNormCounters}, at::device(device).dtype(at::kInt));
  return reinterpret_cast<std::uint32_t*>(counters.mutable_data_ptr<int>());
}

class Norm : public torch::autograd::Function<Norm> {
 public:
  // `given_weight`: an undefined tensor would not do.
  static at::Tensor forward(AutogradContext* context, const at::Tensor& given,
                            const std::optional<at::Tensor>& given_weight, const RopeTables& turns,
                            double epsilon) {
    const at::Tensor weight = given_weight.value_or(at::Tensor());
    const Lines x(given);
    const at::Tensor made = at::empty(given.sizes(), given.options());
    const Lines y(made);
    at::Tensor scale;
    if (weight.defined()) scale = at::empty({x.shape.Lines()}, given.options().dtype(at::kFloat));
    kernels::NormCall call{.type = NumberOf(x.tensor),
                           .weight_type = weight.defined() ? NumberOf(weight) : kernels::Number::kFloat,
                           .shape = x.shape,
                           .x = DataOf(x.tensor),
                           .x_strides = x.strides,
                           .weight = DataOf(weight),
                           .epsilon = static_cast<float>(epsilon),
                           .turns = TurnsOf(turns.cos, turns.sin),
                           .y = made.mutable_data_ptr(),
                           .y_strides = y.strides,
                           .scale = DataOr<float>(scale)};
    Launch(kernels::TheModule().norm, given.device(), call);
    context->save_for_backward(
        {weight.defined() ? x.tensor : at::Tensor(), weight, scale, turns.cos, turns.sin});
    if (weight.defined()) context->saved_data["leaf"] = weight;
    return made;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &weight = saved[1], &scale = saved[2];
    const Lines gradient(gradients[0]);
    const at::Tensor made = at::empty(gradients[0].sizes(), gradients[0].options());
    const Lines to(made), x = weight.defined() ? Lines(saved[0]) : to;
    kernels::NormBackwardCall call{
        .type = NumberOf(gradient.tensor),
        .weight_type = weight.defined() ? NumberOf(weight) : kernels::Number::kFloat,
        .shape = gradient.shape,
        .gradient = DataOf(gradient.tensor),
        .gradient_strides = gradient.strides,
        .x = weight.defined() ? DataOf(x.tensor) : nullptr,
        .x_strides = x.strides,
        .weight = DataOf(weight),
        .scale = DataOr<float>(scale),
        .turns = TurnsOf(saved[3], saved[4]),
        .x_gradient = made.mutable_data_ptr(),
        .x_gradient_strides = to.strides};
    at::Tensor leaf, of_weight, partials;
    if (weight.defined() && context->needs_input_grad(1)) {
      const at::TensorOptions wide = made.options().dtype(at::kFloat);
      leaf = context->saved_data["leaf"].toTensor();
      at::Tensor* const sum = GradientSoFar(leaf);
      call.adds = sum != nullptr;
      of_weight = call.adds ? *sum : at::empty(weight.sizes(), wide);
      partials = at::empty({kernels::NormPartials(call.shape)}, wide);
      call.weight_gradient = DataOr<float>(of_weight);
      call.partials = DataOr<float>(partials);
      call.counters = CountersOn(made.device());
    }
    Launch(kernels::TheModule().norm_backward, made.device(), call);
    if (of_weight.defined()) of_weight = call.adds ? at::Tensor() : HandOver(leaf, of_weight);
    return {made, of_weight, {}, {}};
  }
};

class Gated : public torch::autograd::Function<Gated> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& gate, const at::Tensor& up) {
    const at::Tensor a = Rows(gate), b = Rows(up), y = at::empty(gate.sizes(), gate.options());
    Launch(kernels::TheModule().gated, gate.device(),
           kernels::GatedCall{NumberOf(a), a.size(0), a.size(1), DataOf(a), DataOf(b), a.stride(0),
                              b.stride(0), y.mutable_data_ptr(), a.size(1)});
    context->save_for_backward({gate, up});
    return y;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor gate = Rows(saved[0]), up = Rows(saved[1]), gradient = Rows(gradients[0]);
    const at::Tensor to_gate = at::empty(saved[0].sizes(), gate.options()),
                     to_up = at::empty(saved[1].sizes(), up.options());
    const std::int64_t width = gate.size(1);
    Launch(kernels::TheModule().gated_backward, gate.device(),
           kernels::GatedBackwardCall{NumberOf(gate), gate.size(0), width, DataOf(gradient), DataOf(gate),
                                      DataOf(up), gradient.stride(0), gate.stride(0), up.stride(0),
                                      to_gate.mutable_data_ptr(), to_up.mutable_data_ptr(), width, width});
    return {to_gate, to_up};
  }

 private:
  static at::Tensor Rows(const at::Tensor& x) { return InLines(x.reshape({-1, x.size(-1)})); }
};

kernels::LogitsPiece PieceOf(const at::Tensor& logits, std::int64_t first, std::int64_t vocabulary,
                             const LossTargets& targets) {
  return {NumberOf(logits),
          logits.size(0),
          logits.size(1),
          logits.stride(0),
          first,
          vocabulary,
          targets.words.const_data_ptr<std::int64_t>(),
          DataOr<float>(targets.smoothing)};
}

LossTargets InOrder(const LossTargets& targets) {
  return {.words = targets.words.contiguous(),
          .smoothing =
              targets.smoothing.defined() ? targets.smoothing.to(at::kFloat).contiguous() : at::Tensor()};
}

class Losses : public torch::autograd::Function<Losses> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& given, const LossTargets& targets) {
    const at::Tensor logits = InLines(given);
    const LossTargets ordered = InOrder(targets);
    const at::Tensor losses = at::empty({logits.size(0)}, logits.options().dtype(at::kFloat)),
                     log_sums = at::empty_like(losses);
    Launch(kernels::TheModule().losses, logits.device(),
           kernels::LossesCall{.piece = PieceOf(logits, 0, logits.size(1), ordered),
                               .logits = logits.mutable_data_ptr(),
                               .is_first = true,
                               .is_last = true,
                               .losses = DataOr<float>(losses),
                               .log_sums = DataOr<float>(log_sums)});
    context->save_for_backward({logits, ordered.words, ordered.smoothing, log_sums});
    return losses;
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& logits = saved[0];
    const at::Tensor each = gradients[0].contiguous(), out = at::empty(logits.sizes(), logits.options());
    Launch(kernels::TheModule().losses_backward, logits.device(),
           kernels::LossesBackwardCall{
               .piece = PieceOf(logits, 0, logits.size(1), {.words = saved[1], .smoothing = saved[2]}),
               .logits = DataOf(logits),
               .log_sums = DataOr<float>(saved[3]),
               .gradient = DataOr<float>(each),
               .out = out.mutable_data_ptr(),
               .out_stride = logits.size(1)});
    return {out, {}};
  }
};

}  // namespace

void UseKernels(const FusedKernels& kernels) {
  in_use = kernels;
  if (kernels.used[static_cast<int>(FusedKernel::kNorm)]) CountersOn(kernels.device);
}
const FusedKernels& KernelsInUse() { return in_use; }

bool IsFused(FusedKernel kernel, const at::Tensor& x) {
  return x.is_cuda() && in_use.used[static_cast<int>(kernel)] && x.scalar_type() != at::kDouble;
}

at::Tensor FusedNormRope(const at::Tensor& x, const at::Tensor& weight, const RopeTables& turns,
                         double epsilon) {
  return Norm::apply(x, weight.defined() ? std::optional(weight) : std::nullopt, turns, epsilon);
}

at::Tensor FusedSwiGlu(const at::Tensor& gate, const at::Tensor& up) { return Gated::apply(gate, up); }

at::Tensor FusedLosses(const at::Tensor& logits, const LossTargets& targets) {
  return Losses::apply(logits, targets);
}

void SeePiece(const at::Tensor& piece, std::int64_t first, std::int64_t vocabulary,
              const LossTargets& targets, const FusedSeen& seen, const at::Tensor& smaller) {
  Launch(kernels::TheModule().losses, piece.device(),
         kernels::LossesCall{.piece = PieceOf(piece, first, vocabulary, targets),
                             .logits = piece.mutable_data_ptr(),
                             .is_first = first == 0,
                             .is_last = false,
                             .highest = DataOr<float>(seen.highest),
                             .others = DataOr<float>(seen.others),
                             .target = DataOr<float>(seen.target),
                             .all = DataOr<float>(seen.all),
                             .smaller = DataOr<float>(smaller)});
}

void TurnToGradient(const at::Tensor& piece, std::int64_t first, std::int64_t vocabulary,
                    const LossTargets& targets, const at::Tensor& log_sums, const at::Tensor& gradient) {
  Launch(kernels::TheModule().losses_backward, piece.device(),
         kernels::LossesBackwardCall{.piece = PieceOf(piece, first, vocabulary, targets),
                                     .logits = DataOf(piece),
                                     .log_sums = DataOr<float>(log_sums),
                                     .gradient = DataOr<float>(gradient),
                                     .out = piece.mutable_data_ptr(),
                                     .out_stride = piece.stride(0)});
}

void FusedAdamW(const AdamWLists& lists, const AdamWFactors& factors) {
  std::vector<kernels::AdamWTensor> tensors;
  const auto data = [](const at::Tensor& x) { return x.mutable_data_ptr<float>(); };
  kernels::Number half_type = kernels::Number::kBf16;
  for (std::size_t i = 0; i < lists.weights.size(); ++i) {
    const at::Tensor& half = lists.halves[i];
    if (half.defined()) half_type = NumberOf(half);
    tensors.push_back({data(lists.weights[i]), data(lists.gradients[i]), data(lists.means[i]),
                       data(lists.squares[i]), half.defined() ? half.mutable_data_ptr() : nullptr,
                       data(lists.counts[i]), lists.weights[i].numel()});
  }
  Launch(kernels::TheModule().adamw, lists.weights.front().device(),
         kernels::AdamWCall{.tensors = tensors.data(),
                            .count = static_cast<std::int64_t>(tensors.size()),
                            .half_type = half_type,
                            .learning_rate = data(factors.learning_rate),
                            .gradient_scale = DataOr<float>(factors.gradient_scale),
                            .skip = nullptr,
                            .beta1 = factors.beta1,
                            .beta2 = factors.beta2,
                            .epsilon = factors.epsilon,
                            .weight_decay = factors.weight_decay});
}

}  // namespace medley
