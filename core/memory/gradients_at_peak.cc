#include <medley/memory/gradients_at_peak.h>

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <memory>
#include <utility>

#include <medley/memory/meter.h>

namespace medley {
namespace {

std::unique_ptr<torch::autograd::PostAccumulateGradHook>& HookOf(const at::Tensor& parameter) {
  return torch::autograd::impl::post_acc_grad_hooks(parameter);
}

}  // namespace

class GradientsAtPeak::Hook final : public torch::autograd::PostAccumulateGradHook {
 public:
  Hook(GradientsAtPeak& owner, std::size_t parameter, std::unique_ptr<PostAccumulateGradHook> before)
      : before_(std::move(before)), owner_(owner), parameter_(parameter) {}
  void operator()(const at::Tensor&) override { owner_.Accumulated(parameter_); }
  std::unique_ptr<PostAccumulateGradHook> before_;

 private:
  GradientsAtPeak& owner_;
  std::size_t parameter_;
};

GradientsAtPeak::GradientsAtPeak(const std::vector<Parameter>& parameters, at::Device device)
    : device_(device) {
  for (const Parameter& named : parameters) {
    const at::Tensor& parameter = named.tensor;
    if (!parameter.requires_grad() || parameter.device() != device) continue;
    auto& hook = HookOf(parameter);
    torch::autograd::impl::set_post_acc_grad_hooks(
        parameter, std::make_unique<Hook>(*this, parameters_.size(), std::move(hook)));
    parameters_.push_back(parameter);
    if (!device.is_cpu()) most_unseen_ += static_cast<std::int64_t>(parameter.nbytes());
  }
  most_unseen_ /= 64;
  Begin();
}

GradientsAtPeak::~GradientsAtPeak() {
  for (const at::Tensor& parameter : parameters_) {
    auto& hook = HookOf(parameter);
    hook = std::move(static_cast<Hook&>(*hook).before_);
  }
}

void GradientsAtPeak::Begin() {
  counted_.assign(parameters_.size(), false);
  now_ = unseen_ = 0;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor& gradient = parameters_[i].grad();
    counted_[i] = gradient.defined();
    if (gradient.defined()) now_ += static_cast<std::int64_t>(gradient.nbytes());
  }
  peak_ = ReadMemory(device_).peak;
  at_peak_ = now_;
}

// The peak never falls: what it gained since it was last seen, it gained with the gradients of now.
void GradientsAtPeak::SeePeak() {
  const std::int64_t peak = ReadMemory(device_).peak;
  unseen_ = 0;
  if (peak <= peak_) return;
  peak_ = peak;
  at_peak_ = now_;
}

// Only the first of a step adds bytes. On a GPU this is one of the engine's threads, for which the trainer's
// waits.
void GradientsAtPeak::Accumulated(std::size_t parameter) {
  if (counted_[parameter]) return;
  const auto bytes = static_cast<std::int64_t>(parameters_[parameter].grad().nbytes());
  if (unseen_ + bytes > most_unseen_) SeePeak();
  counted_[parameter] = true;
  now_ += bytes;
  unseen_ += bytes;
}

std::int64_t GradientsAtPeak::bytes() {
  SeePeak();
  return at_peak_;
}

}  // namespace medley
