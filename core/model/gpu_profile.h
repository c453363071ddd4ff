#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace medley {

// Something that libtorch's profiler saw; nanoseconds of one clock.
struct GpuEvent {
  enum class Kind { kKernel, kCopy, kCall };  // a call: of the host's, into CUDA
  Kind kind;
  std::string name;
  std::uint64_t begin = 0, end = 0;
};

// What a GPU did in a while.
struct GpuProfile {
  struct Kernel {
    std::int64_t launches = 0;
    double milliseconds = 0;
  };
  double busy = 0;            // milliseconds in which at least one kernel or copy was under way
  std::int64_t launches = 0;  // of kernels
  std::int64_t copies = 0;    // and fills
  std::int64_t pageable = 0;  // of the copies, those of memory that is not page-locked: the host waits
  std::int64_t waits = 0;     // calls in which the host waited; none that no launch follows
  std::map<std::string, Kernel> kernels{};
};
GpuProfile ProfileOf(const std::vector<GpuEvent>& events);
// Kernels are a list, the longest first.
nlohmann::ordered_json ToJson(const GpuProfile& profile);

// Watches the process's work on a GPU by libtorch's profiler, which asks NVIDIA's CUPTI: from when this is
// made, which waits for the device, to Stop, on one thread. One at a time. Without CUPTI, and on a GPU that
// is none, the profile is empty.
class GpuProfiler {
 public:
  explicit GpuProfiler(c10::Device device);
  ~GpuProfiler();
  GpuProfiler(const GpuProfiler&) = delete;
  GpuProfiler& operator=(const GpuProfiler&) = delete;

  GpuProfile Stop();

 private:
  c10::Device device_;
  bool runs_ = true;
};

}  // namespace medley
