#include <medley/train/profile_sink.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/model/gpu_profile.h>

namespace medley {
namespace {

class ProfileSink final : public RecordSink {
 public:
  ProfileSink(std::filesystem::path file, c10::Device device, long first, long last)
      : file_(std::move(file)), device_(device), first_(first), last_(last) {}

  void Take(const StepRecord& record) override {
    if (profiler_ && record.step == last_) Write();
    if (record.step == first_ - 1) profiler_.emplace(device_);
  }

 private:
  void Write() {
    nlohmann::ordered_json json = ToJson(profiler_->Stop());
    profiler_.reset();
    json["steps"] = last_ - first_ + 1;
    ReplaceFile(file_, json.dump(1) + "\n");
  }

  std::filesystem::path file_;
  c10::Device device_;
  std::int64_t first_, last_;
  std::optional<GpuProfiler> profiler_;
};

}  // namespace

void AddProfile(RecordSinks& sinks, const std::filesystem::path& directory, c10::Device device) {
  const char* const steps = std::getenv("MEDLEY_PROFILE");
  if (steps == nullptr || *steps == '\0' || !device.is_cuda()) return;
  long first = 0, last = 0;
  int read = 0;
  if (std::sscanf(steps, "%ld-%ld%n", &first, &last, &read) != 2 || steps[read] != '\0' || first < 2 ||
      last < first)
    throw InputError(std::string("MEDLEY_PROFILE is \"") + steps +
                     "\"; expected the steps to profile, from 2 on, such as 61-65");
  sinks.Add(std::make_unique<ProfileSink>(directory / kKernelsFile, device, first, last));
}

}  // namespace medley
