#include <medley/config/threads.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <thread>

#include <medley/base/error.h>

namespace medley {

std::int64_t Cores() { return std::max(1U, std::thread::hardware_concurrency()); }

std::int64_t DefaultThreads() {
  const char* words = std::getenv("OMP_NUM_THREADS");
  const std::string_view text = words != nullptr ? words : "";  // "4", or "4,2" for parallel loops in others
  std::int64_t threads = 0;
  std::from_chars(text.data(), text.data() + text.size(), threads);
  return threads > 0 ? std::min(threads, kMostThreadsACore * Cores()) : Cores();
}

std::string ThreadsWarning(std::int64_t threads, std::int64_t cores) {
  if (threads <= cores) return "";
  const std::string words = "threads: " + std::to_string(threads) + " on " + std::to_string(cores) +
                            (cores == 1 ? " core" : " cores");
  if (threads > kMostThreadsACore * cores) {
    throw InputError(words + "; expected at most " + std::to_string(kMostThreadsACore * cores) +
                     ", and more than one a core only makes them wait for each other: threads=0 takes one "
                     "a core");
  }
  return words + ": more than one a core only makes them wait for each other; threads=0 takes one a core";
}

}  // namespace medley
