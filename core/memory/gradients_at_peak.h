#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include <medley/model/model.h>

namespace medley {

// The bytes of gradients at the moment when the most bytes were in use. All that a backward leaves may come
// after that moment: a joint step's peak is mostly at its loss, and has none.
//
// Listens to the accumulation of every parameter's gradient while it lives, and changes nothing about it. Of
// two that live at once the newer listens; they end in the opposite order. Keeps handles of the parameters.
// To be used on the trainer's thread; on a GPU it listens on an engine's thread, for which the trainer's
// waits.
class GradientsAtPeak {
 public:
  // Parameters that are not trained are left out.
  GradientsAtPeak(const std::vector<Parameter>& parameters, at::Device device);
  ~GradientsAtPeak();
  GradientsAtPeak(const GradientsAtPeak&) = delete;
  GradientsAtPeak& operator=(const GradientsAtPeak&) = delete;

  // Begins a stretch of time: the device's peak was just reset. Looks at what gradients there are, so it
  // makes no difference what a backward that threw left behind.
  void Begin();
  // Bytes of gradients at the highest peak since Begin. A gradient counts from when it is the parameter's;
  // while the operator that makes it runs, it is an activation like others. On a GPU, whose statistics cost
  // the host a lock and a copy, within a 64th of all parameters' gradients.
  std::int64_t bytes();

 private:
  class Hook;
  void Accumulated(std::size_t parameter);
  void SeePeak();

  at::Device device_;
  std::vector<at::Tensor> parameters_;
  std::vector<bool> counted_;  // does the parameter's gradient stand in now_?
  std::int64_t now_ = 0, at_peak_ = 0, peak_ = 0;
  std::int64_t unseen_ = 0;       // bytes that came since the peak was last seen
  std::int64_t most_unseen_ = 0;  // so many may
};

}  // namespace medley
