#pragma once

#include <string>

namespace medley {

// "2026-03-01T12:34:56Z", now.
std::string TimeStamp();
// "20260301-123456", local time, for names of directories.
std::string TimeForName();

}  // namespace medley
