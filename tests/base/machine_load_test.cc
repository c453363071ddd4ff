#include <medley/base/machine_load.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

namespace medley {
namespace {

TEST(MachineLoad, CountsWhatThisProcessComputes) {
  const MachineLoad before = ReadMachineLoad();
  volatile double sum = 0;
  MachineLoad load;
  do {
    for (int i = 0; i < 1'000'000; ++i) sum = sum + i;
    load = ReadMachineLoad() - before;
  } while (load.own < 0.2);
  EXPECT_GE(load.time, 0.19) << "one thread computed";
  EXPECT_GE(load.cores, 1);
  EXPECT_LE(load.cores, static_cast<std::int64_t>(std::thread::hardware_concurrency()));
  EXPECT_GE(load.busy, 0.1) << "which the cores were busy with; the system counts in hundredths";
  EXPECT_LE(load.busy, static_cast<double>(load.cores) * (load.time + 0.1));
}

}  // namespace
}  // namespace medley
