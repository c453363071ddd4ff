#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <medley/memory/gradients_at_peak.h>
#include <medley/memory/reading.h>
#include <medley/task/batch.h>

namespace medley {

// Reads what is in use: on the CPU from the counting allocator, as requested; on a GPU from libtorch's
// caching allocator. On any thread.
MemoryReading ReadMemory(at::Device device);
// The reading of a caching allocator. In use is what was asked for, whose lines are straight; what the
// allocator rounded that to is in what it reserved.
MemoryReading ReadingOf(const c10::CachingDeviceAllocator::DeviceStats& stats);
// Sets the peaks to what is in use now. A device has one pair of them: whoever resets them takes them from
// whoever measures.
void ResetPeak(at::Device device);

// Bytes of all tensors of these rows.
std::int64_t BytesOf(const Batch& rows);

// Gives memory back that allocators keep for later; tensors stay. What follows pays for getting it again.
void ReleaseCachedMemory(at::Device device);

// Whether bytes that a failed draw left behind are somebody's mistake. On the CPU each one is; on a GPU
// libraries keep workspaces from where they are first used.
bool IsLeak(std::int64_t bytes, at::Device device);

// The bytes of one step, and of each of its draws: an allocator has one peak, so it is reset at each draw. To
// be used on the trainer's thread. A step that failed has no end: another BeginStep forgets it.
class StepMeter {
 public:
  // `known` says how many of the bytes in use belong to gradients and constants, which are nobody's leak; it
  // is asked at every call. `gradients`: tells those of the peak apart; null: nobody does. Outlives the
  // meter.
  StepMeter(at::Device device, std::function<std::int64_t()> known, GradientsAtPeak* gradients = nullptr)
      : device_(device), known_(std::move(known)), gradients_(gradients) {}

  void BeginStep();
  // The step's tasks are loaded: what they hold is theirs to keep.
  void BeginDraws();
  // Told by who watches the executor; a draw that throws has no end, and is forgotten.
  void BeginDraw();
  void EndDraw(const std::string& task);
  StepMemory EndStep();
  // Bytes that the draws of a step which failed left in use, once everything of it is gone: 0, but for a
  // leak.
  std::int64_t LeftBehind() const { return ReadMemory(device_).now - known_() - draws_base_; }

 private:
  MemoryReading ReadAndFold();

  at::Device device_;
  std::function<std::int64_t()> known_;
  GradientsAtPeak* gradients_;
  StepMemory step_;
  std::int64_t peak_ = 0, reserved_peak_ = 0, data_ = 0;  // of the step so far
  // In use and not known, when the step, its draws and the draw began, and when the last step ended.
  std::int64_t step_base_ = 0, draws_base_ = 0, draw_base_ = 0;
  std::optional<std::int64_t> last_base_;
};

}  // namespace medley
