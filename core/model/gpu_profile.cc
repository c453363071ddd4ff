#include <medley/model/gpu_profile.h>

#include <kineto/ActivityType.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include <medley/model/device.h>

namespace medley {
namespace {

namespace profiler = torch::autograd::profiler;
using Kind = GpuEvent::Kind;

std::optional<Kind> KindOf(const profiler::KinetoEvent& event) {
  switch (static_cast<libkineto::ActivityType>(event.activityType())) {
    case libkineto::ActivityType::CONCURRENT_KERNEL:
      return Kind::kKernel;
    case libkineto::ActivityType::GPU_MEMCPY:
    case libkineto::ActivityType::GPU_MEMSET:
      return Kind::kCopy;
    case libkineto::ActivityType::CUDA_RUNTIME:
    case libkineto::ActivityType::CUDA_DRIVER:
      return Kind::kCall;
    default:
      return std::nullopt;
  }
}

bool IsWait(const GpuEvent& event) {
  return event.kind == Kind::kCall &&
         (event.name == "cudaMemcpy" || event.name.find("Synchronize") != std::string::npos);
}

constexpr double kNanoseconds = 1e-6;  // in milliseconds

// Of what was under way at once, the time is counted once.
double TimeTogether(std::vector<std::pair<std::uint64_t, std::uint64_t>> times) {
  std::sort(times.begin(), times.end());
  std::uint64_t total = 0, until = 0;
  for (const auto& [begin, end] : times) {
    if (end <= until) continue;
    total += end - std::max(begin, until);
    until = end;
  }
  return kNanoseconds * static_cast<double>(total);
}

}  // namespace

GpuProfile ProfileOf(const std::vector<GpuEvent>& events) {
  GpuProfile profile;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> times;
  for (const GpuEvent& event : events) {
    if (event.kind == Kind::kCall) continue;
    times.emplace_back(event.begin, event.end);
    if (event.kind == Kind::kCopy) {
      ++profile.copies;
      if (event.name.find("Pageable") != std::string::npos) ++profile.pageable;
      continue;
    }
    ++profile.launches;
    GpuProfile::Kernel& kernel = profile.kernels[event.name];
    ++kernel.launches;
    kernel.milliseconds += kNanoseconds * static_cast<double>(event.end - event.begin);
  }
  // The profiler itself waits where it ends.
  const auto last = std::max_element(times.begin(), times.end());
  for (const GpuEvent& event : events) {
    if (IsWait(event) && last != times.end() && event.begin < last->first) ++profile.waits;
  }
  profile.busy = TimeTogether(std::move(times));
  return profile;
}

nlohmann::ordered_json ToJson(const GpuProfile& profile) {
  std::vector<std::pair<std::string, GpuProfile::Kernel>> kernels(profile.kernels.begin(),
                                                                  profile.kernels.end());
  std::stable_sort(kernels.begin(), kernels.end(), [](const auto& a, const auto& b) {
    return a.second.milliseconds > b.second.milliseconds;
  });
  nlohmann::ordered_json json{{"busy_ms", profile.busy},  {"launches", profile.launches},
                              {"copies", profile.copies}, {"pageable", profile.pageable},
                              {"waits", profile.waits},   {"kernels", nlohmann::ordered_json::array()}};
  for (const auto& [name, kernel] : kernels)
    json["kernels"].push_back({{"name", name}, {"launches", kernel.launches}, {"ms", kernel.milliseconds}});
  return json;
}

GpuProfiler::GpuProfiler(c10::Device device) : device_(device) {
  const profiler::ProfilerConfig config(profiler::ProfilerState::KINETO);
  const std::set<profiler::ActivityType> activities = {profiler::ActivityType::CUDA};
  Synchronize(device);
  profiler::prepareProfiler(config, activities);
  profiler::enableProfiler(config, activities, {});
}

GpuProfiler::~GpuProfiler() {
  try {
    if (runs_) profiler::disableProfiler();
  } catch (const std::exception&) {  // the device failed, of which others tell
  }
}

GpuProfile GpuProfiler::Stop() {
  Synchronize(device_);
  runs_ = false;
  std::vector<GpuEvent> events;
  const std::unique_ptr<profiler::ProfilerResult> result = profiler::disableProfiler();
  for (const profiler::KinetoEvent& event : result->events()) {
    if (const std::optional<Kind> kind = KindOf(event))
      events.push_back({*kind, event.name(), event.startNs(), event.endNs()});
  }
  return ProfileOf(events);
}

}  // namespace medley
