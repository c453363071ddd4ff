#pragma once

#include <cstdint>
#include <string>

namespace medley {

// The address of this machine that those reach who reach `host`, in numbers; where that is this machine's own
// name, the address of its first network. An InputError where the host has no address, or this machine no
// network.
std::string LocalAddress(const std::string& host, std::int64_t port);

}  // namespace medley
