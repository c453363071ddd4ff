#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace medley {

// Bytes of tensors on a device.
struct MemoryReading {
  std::int64_t now = 0;   // the trainer's
  std::int64_t peak = 0;  // the trainer's, since the last ResetPeak
  std::int64_t data = 0;  // the data threads', on the CPU: rows that wait, or are worked on
  // Held from the system. The CPU's allocator holds nothing back: its figures are now and peak.
  std::int64_t reserved = 0;
  std::int64_t reserved_peak = 0;
  std::int64_t retries = 0;  // how often the caching allocator had to flush its cache, ever
  std::int64_t ooms = 0;     // how many allocations were refused, ever
};

// The bytes of one draw of a step.
struct DrawMemory {
  std::string task;
  std::int64_t peak = 0;  // bytes in use in all while the draw was computed
  std::int64_t kept = 0;  // of what it allocated, gradients and constants left out
};

// The bytes of one step, as a StepMeter found them.
struct StepMemory {
  MemoryReading before, after;  // after: the peaks are the whole step's, data the most seen
  std::int64_t gradients = 0;   // of the bytes in use at after.peak
  std::vector<DrawMemory> draws;
  std::int64_t kept_between = 0;  // what stayed of all else in the step: the loop's, the optimizer's
  std::int64_t kept_outside = 0;  // and of what ran since the last step: evaluation, checkpoints
};

}  // namespace medley
