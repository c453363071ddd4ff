#pragma once

#include <cstdint>

namespace medley {

// What has used the cores that this process may run on, in seconds of a core since some moment: two readings
// tell it of the time between them. What cannot be read is 0.
struct MachineLoad {
  double time = 0;         // seconds
  double busy = 0;         // of all programs, this one too
  double own = 0;          // of this process
  double stolen = 0;       // that a virtual machine's host gave to others
  double throttled = 0;    // seconds in which a container had used up its share
  std::int64_t pages = 0;  // that this process waited for, from the disk
  std::int64_t cores = 1;

  // What came between.
  MachineLoad operator-(const MachineLoad& before) const;
};

MachineLoad ReadMachineLoad();

}  // namespace medley
