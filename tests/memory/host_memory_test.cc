#include <gtest/gtest.h>
#include <medley/base/error.h>
#include <medley/memory/host_memory.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "tests/report/scratch_directory.h"

namespace medley {
namespace {

namespace fs = std::filesystem;
constexpr std::int64_t kMiB = 1 << 20;

// A machine of 1000 MiB, of which 800 are available, with these files beside it.
HostMemory On(const std::map<std::string, std::string>& files) {
  const ScratchDirectory scratch;
  const auto write = [&](const fs::path& file, const std::string& text) {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  };
  write(scratch / "proc/meminfo", "MemTotal:  1024000 kB\nMemFree:  1 kB\nMemAvailable:  819200 kB\n");
  for (const auto& [name, text] : files) write(scratch / name, text);
  return ReadHostMemory(scratch.path());
}

std::string MiB(std::int64_t count) { return std::to_string(count * kMiB) + "\n"; }

TEST(HostMemoryTest, WithoutAControlGroupItIsTheMachine) {
  for (const std::string groups : {"", "0::/\n", "0::/user.slice\n3:memory:/user\n"}) {
    const HostMemory memory = On({{"proc/self/cgroup", groups}});
    EXPECT_EQ(memory.total, 1000 * kMiB);
    EXPECT_EQ(memory.available, 800 * kMiB);
  }
}

// Pages of files that nobody looked at lately can be had.
TEST(HostMemoryTest, VersionTwoLimitsThroughTheGroupAndItsParents) {
  const std::map<std::string, std::string> files = {
      {"proc/self/cgroup", "0::/slice/job\n"},
      {"sys/fs/cgroup/slice/memory.max", MiB(500)},
      {"sys/fs/cgroup/slice/memory.current", MiB(450)},
      {"sys/fs/cgroup/slice/memory.stat", "anon 1\ninactive_file " + MiB(100) + "active_file 7\n"},
      {"sys/fs/cgroup/slice/job/memory.max", "max\n"},
      {"sys/fs/cgroup/slice/job/memory.current", MiB(300)}};
  HostMemory memory = On(files);
  EXPECT_EQ(memory.total, 500 * kMiB);
  EXPECT_EQ(memory.available, 150 * kMiB);
  auto tighter = files;
  tighter["sys/fs/cgroup/slice/job/memory.max"] = MiB(320);
  memory = On(tighter);
  EXPECT_EQ(memory.total, 320 * kMiB);
  EXPECT_EQ(memory.available, 20 * kMiB);
}

TEST(HostMemoryTest, VersionOneLimitsAndItsHugeNumberDoesNot) {
  std::map<std::string, std::string> files = {
      {"proc/self/cgroup", "5:cpu,cpuacct:/job\n4:memory:/job\n0::/\n"},
      {"sys/fs/cgroup/unified/cgroup.procs", ""},
      {"sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"},
      {"sys/fs/cgroup/memory/memory.usage_in_bytes", MiB(900)},
      {"sys/fs/cgroup/memory/job/memory.limit_in_bytes", MiB(400)},
      {"sys/fs/cgroup/memory/job/memory.usage_in_bytes", MiB(100)},
      {"sys/fs/cgroup/memory/job/memory.stat", "inactive_file 5\ntotal_inactive_file " + MiB(10)}};
  HostMemory memory = On(files);
  EXPECT_EQ(memory.total, 400 * kMiB);
  EXPECT_EQ(memory.available, 310 * kMiB);
  files["sys/fs/cgroup/memory/job/memory.limit_in_bytes"] = "9223372036854771712\n";
  EXPECT_EQ(On(files).total, 1000 * kMiB);
}

// In a container the group is named as on the host, and its files lie at the mount.
TEST(HostMemoryTest, AContainersLimitIsFoundAtTheMount) {
  const HostMemory memory = On({{"proc/self/cgroup", "0::/system.slice/docker-123.scope\n"},
                                {"sys/fs/cgroup/memory.max", MiB(256)},
                                {"sys/fs/cgroup/memory.current", MiB(56)}});
  EXPECT_EQ(memory.total, 256 * kMiB);
  EXPECT_EQ(memory.available, 200 * kMiB);
}

TEST(HostMemoryTest, MoreInUseThanAllowedIsNothingAvailable) {
  const HostMemory memory = On({{"proc/self/cgroup", "0::/\n"},
                                {"sys/fs/cgroup/memory.max", MiB(256)},
                                {"sys/fs/cgroup/memory.current", MiB(300)}});
  EXPECT_EQ(memory.available, 0);
}

TEST(HostMemoryTest, ThisMachineSaysHowMuchItHas) {
  const HostMemory memory = ReadHostMemory();
  EXPECT_GT(memory.available, 0);
  EXPECT_GE(memory.total, memory.available);
  const ScratchDirectory empty;
  EXPECT_THROW(ReadHostMemory(empty.path()), Error);
}

TEST(HostMemoryTest, TheAddressSpaceLimitsWhatIsNotMappedYet) {
  const auto with = [](const std::string& limit) {
    return On({{"proc/self/limits",
                "Limit                     Soft Limit           Hard Limit           Units\n"
                "Max stack size            8388608              unlimited            bytes\n"
                "Max address space         " +
                    limit + "           unlimited            bytes\n"},
               {"proc/self/status", "VmPeak:\t  999999 kB\nVmSize:\t  102400 kB\n"}});
  };
  EXPECT_EQ(with("unlimited").total, 1000 * kMiB);
  EXPECT_EQ(with("unlimited").available, 800 * kMiB);
  EXPECT_EQ(with(std::to_string(500 * kMiB)).total, 500 * kMiB);
  EXPECT_EQ(with(std::to_string(500 * kMiB)).available, 400 * kMiB);
  EXPECT_EQ(with(std::to_string(50 * kMiB)).available, 0);
  EXPECT_EQ(with(std::to_string(950 * kMiB)).available, 800 * kMiB);
}

}  // namespace
}  // namespace medley
