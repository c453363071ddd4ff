#include <medley/model/gpu_profile.h>

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace medley {
namespace {

using Kind = GpuEvent::Kind;

// Milliseconds.
GpuEvent Event(Kind kind, const std::string& name, std::uint64_t begin, std::uint64_t end) {
  return {kind, name, begin * 1'000'000, end * 1'000'000};
}

// Two streams at once, a gap, and what the host calls meanwhile.
const std::vector<GpuEvent> kEvents = {Event(Kind::kCall, "cudaLaunchKernel", 0, 1),
                                       Event(Kind::kKernel, "norm", 1, 4),
                                       Event(Kind::kKernel, "product", 2, 7),
                                       Event(Kind::kCopy, "Memcpy DtoH (Device -> Pageable)", 6, 7),
                                       Event(Kind::kCall, "cudaStreamSynchronize", 6, 7),
                                       Event(Kind::kKernel, "norm", 10, 11),
                                       Event(Kind::kCopy, "Memset (Device)", 11, 12),
                                       Event(Kind::kCall, "cudaDeviceSynchronize", 11, 12)};

TEST(GpuProfile, TimeOfKernelsThatRunAtOnceCountsOnce) { EXPECT_EQ(ProfileOf(kEvents).busy, 8); }

TEST(GpuProfile, CountsLaunchesCopiesAndWaits) {
  const GpuProfile profile = ProfileOf(kEvents);
  EXPECT_EQ(profile.launches, 3);
  EXPECT_EQ(profile.copies, 2);
  EXPECT_EQ(profile.pageable, 1);
  EXPECT_EQ(profile.waits, 1) << "the last one is the profiler's own";
  EXPECT_EQ(ProfileOf({}).busy, 0);
}

TEST(GpuProfile, NamesKernelsTheLongestFirst) {
  const nlohmann::ordered_json kernels = ToJson(ProfileOf(kEvents)).at("kernels");
  EXPECT_EQ(kernels.dump(),
            R"([{"name":"product","launches":1,"ms":5.0},{"name":"norm","launches":2,"ms":4.0}])");
}

}  // namespace
}  // namespace medley
