#include <medley/memory/meter.h>

#include <malloc.h>

#include <algorithm>

#include <medley/memory/cpu_allocator.h>

namespace medley {
namespace {

constexpr std::size_t kAllPools = 0;  // of a c10 StatArray

MemoryReading ReadCpu() {
  const CpuMemory memory = ReadCpuMemory();
  return {.now = memory.now,
          .peak = memory.peak,
          .data = memory.data_now,
          .reserved = memory.now,
          .reserved_peak = memory.peak,
          .ooms = memory.ooms};
}

}  // namespace

MemoryReading ReadMemory(at::Device device) {
  if (device.is_cpu()) return ReadCpu();
  return ReadingOf(c10::getDeviceAllocator(device.type())->getDeviceStats(device.index()));
}

MemoryReading ReadingOf(const c10::CachingDeviceAllocator::DeviceStats& stats) {
  const auto &requested = stats.requested_bytes[kAllPools], &reserved = stats.reserved_bytes[kAllPools];
  return {.now = requested.current,
          .peak = requested.peak,
          .reserved = reserved.current,
          .reserved_peak = reserved.peak,
          .retries = stats.num_alloc_retries,
          .ooms = stats.num_ooms};
}

void ResetPeak(at::Device device) {
  if (device.is_cpu()) {
    ResetCpuPeak();
  } else {
    c10::getDeviceAllocator(device.type())->resetPeakStats(device.index());
  }
}

bool IsLeak(std::int64_t bytes, at::Device device) {
  constexpr std::int64_t kWorkspaces = 64 << 20;  // of cuBLAS on sm_90: 32 MiB for each of two threads
  return bytes > (device.is_cpu() ? 0 : kWorkspaces);
}

std::int64_t BytesOf(const Batch& rows) {
  std::size_t bytes = 0;
  for (const auto& [name, column] : rows.columns()) bytes += column.nbytes();
  for (const auto& [name, items] : rows.items()) bytes += items.nbytes();
  for (const auto& [name, column] : rows.ragged()) {
    bytes += column.values.nbytes() + column.item_row.nbytes();
    if (column.is_padded()) bytes += column.place.nbytes();
  }
  return static_cast<std::int64_t>(bytes);
}

void ReleaseCachedMemory(at::Device device) {
  if (device.is_cpu()) {
    malloc_trim(0);
  } else {
    c10::getDeviceAllocator(device.type())->emptyCache();
  }
}

// Closes a stretch of the step: what was its peak goes into the step's, and a new one begins.
MemoryReading StepMeter::ReadAndFold() {
  const MemoryReading reading = ReadMemory(device_);
  if (gradients_ != nullptr && reading.peak > peak_) step_.gradients = gradients_->bytes();
  ResetPeak(device_);
  if (gradients_ != nullptr) gradients_->Begin();
  peak_ = std::max(peak_, reading.peak);
  reserved_peak_ = std::max(reserved_peak_, reading.reserved_peak);
  data_ = std::max(data_, reading.data);
  return reading;
}

void StepMeter::BeginStep() {
  step_ = {};
  step_.before = ReadAndFold();
  peak_ = reserved_peak_ = data_ = step_.gradients = 0;
  step_base_ = draws_base_ = step_.before.now - known_();
  if (last_base_) step_.kept_outside = step_base_ - *last_base_;
}

void StepMeter::BeginDraws() {
  const std::int64_t base = ReadMemory(device_).now - known_(), loaded = base - draws_base_;
  draws_base_ = base;
  step_base_ += loaded;
  if (last_base_) *last_base_ += loaded;  // where a step fails, another begins before one ended
}

void StepMeter::BeginDraw() { draw_base_ = ReadAndFold().now - known_(); }

void StepMeter::EndDraw(const std::string& task) {
  const MemoryReading reading = ReadAndFold();
  step_.draws.push_back({.task = task, .peak = reading.peak, .kept = reading.now - known_() - draw_base_});
}

StepMemory StepMeter::EndStep() {
  step_.after = ReadAndFold();
  step_.after.peak = peak_;
  step_.after.reserved_peak = reserved_peak_;
  step_.after.data = data_;
  last_base_ = step_.after.now - known_();
  step_.kept_between = *last_base_ - step_base_;
  for (const DrawMemory& draw : step_.draws) step_.kept_between -= draw.kept;
  if (step_.kept_between >= 0 || step_.draws.empty()) return step_;
  // What was freed after the draws was theirs: the sums of their terms wait for the end of the step.
  const std::int64_t part = step_.kept_between / static_cast<std::int64_t>(step_.draws.size());
  for (DrawMemory& draw : step_.draws) {
    draw.kept += part;
    step_.kept_between -= part;
  }
  return step_;
}

}  // namespace medley
