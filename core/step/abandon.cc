#include <medley/step/abandon.h>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <torch/csrc/autograd/autograd.h>

#include <medley/memory/meter.h>
#include <medley/model/device.h>

namespace medley {

void AbandonStep(const Model& model, at::Device device) {
  ClearGradients(model);  // first: draining takes a little memory
  DrainEngine();
  if (!device.is_cpu()) DrainEngine(device);
  AbandonForward(device);
}

void AbandonForward(at::Device device) {
  Synchronize(device);
  ReleaseCachedMemory(device);
}

void DrainEngine(at::Device device) {
  const at::AutoGradMode with_gradients(true);
  const at::Tensor one = at::ones({1}, at::TensorOptions().device(device));
  torch::autograd::backward({one.clone().set_requires_grad(true).mul(1)}, {one});
}

}  // namespace medley
