#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <medley/base/descriptor.h>

namespace medley {

// A socket of this machine on which others are heard; port 0: any that is free. Not ok() where there is none,
// and errno says why.
Descriptor Listen(std::int64_t port);
std::int64_t PortOf(const Descriptor& listening);
// The next of those who called; not ok() where nobody has. Never waits.
Descriptor Accept(const Descriptor& listening);

// A connection to who listens there, or why there is none.
struct Call {
  Descriptor line;
  std::string problem;      // "Connection refused"; "" where there is a line
  bool refused = false;     // nobody listens there
  bool has_address = true;  // else the host's name has none

  bool ok() const { return line.ok(); }
};
// Waits at most so long, but for the host's name, whose address may take the system longer. The kernel
// notices within a minute where the other machine is gone.
Call CallTo(const std::string& host, std::int64_t port, std::chrono::milliseconds limit);
// Whether who is at the other end still lives, or left something to be read.
bool IsOpen(const Descriptor& line);

}  // namespace medley
