#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <thread>
#include <type_traits>
#include <utility>

namespace medley {

// Calls what may block for as long as it likes (a name's address, a store that hangs), in a thread of its
// own, and `heed` every few milliseconds meanwhile. Where that throws, the call is left to itself: it has to
// own all that it touches.
template <typename Work>
auto CallPatiently(Work work, const std::function<void()>& heed) {
  using Result = std::invoke_result_t<Work>;
  std::packaged_task<Result()> task(std::move(work));
  std::future<Result> result = task.get_future();
  std::thread(std::move(task)).detach();
  while (result.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) heed();
  return result.get();
}

// Waits, and calls `heed` meanwhile.
inline void WaitPatiently(std::chrono::milliseconds time, const std::function<void()>& heed) {
  constexpr std::chrono::milliseconds kSlice{20};
  const auto end = std::chrono::steady_clock::now() + time;
  do {
    heed();
    std::this_thread::sleep_for(std::min(time, kSlice));
  } while (std::chrono::steady_clock::now() < end);
}

}  // namespace medley
