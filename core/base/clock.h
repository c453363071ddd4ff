#pragma once

#include <functional>
#include <string>

namespace medley {

// "2026-03-01T12:34:56Z", now.
std::string TimeStamp();
// "20260301-123456", local time, for names of directories.
std::string TimeForName();
// "1:02:03" or "4:05"; "-" where that is no time to wait.
std::string FormatSeconds(double seconds);

// Seconds since some moment; it never goes back, and a machine that sleeps does not count.
double SteadySeconds();
// The clock of a class that must be told the time: SteadySeconds, or a test's.
using SecondsSource = std::function<double()>;

}  // namespace medley
