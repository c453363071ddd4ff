#pragma once

#include <string>

namespace medley {

// As people call this machine; "unknown" where it has no name.
std::string HostName();
// Changes with every start of the machine: a process number of another boot says nothing.
std::string BootId();

}  // namespace medley
