#pragma once

// What the client (client.cc) sends to the server of started commands (server.cc), over a Unix socket: the
// file descriptors of its folder and its three streams, and this, with the strings behind it, each with its
// zero.

#include <sys/resource.h>

#include <array>
#include <cstdint>

namespace medley::test {

struct StartRequest {
  std::int32_t arguments = 0, variables = 0;  // strings behind it
  std::uint32_t bytes = 0;                    // of these
  std::uint32_t umask = 0;
  std::uint64_t ignored = 0;  // signals, bit n of signal n
  std::array<rlimit, RLIM_NLIMITS> limits{};
};

constexpr int kStartDescriptors = 4;  // the folder, stdin, stdout, stderr

}  // namespace medley::test
