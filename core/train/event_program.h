#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace medley {

// Runs a program for one event after the other, on a thread of its own: who tells of them never waits. What
// became of it is kept as words, until somebody takes them. All functions on any thread.
class EventProgram {
 public:
  static constexpr std::chrono::seconds kLongest{30};  // that one of them may take
  static constexpr std::size_t kMostWaiting = 16;

  // `command`: as RunProgram takes it.
  explicit EventProgram(std::vector<std::string> command, std::chrono::milliseconds limit = kLongest);
  // Waits for what is queued.
  ~EventProgram();
  EventProgram(const EventProgram&) = delete;
  EventProgram& operator=(const EventProgram&) = delete;

  // Queues it, behind those that wait; `input` is what the program reads. Where kMostWaiting do already it is
  // left out, which is trouble, but for one that the run ends with.
  enum class Need { kMayBeLeftOut, kAlways };
  void Run(const std::string& event, const std::string& input, Need need = Need::kMayBeLeftOut);
  // Until all are done, or for so long; how many are not.
  std::size_t WaitFor(std::chrono::milliseconds most);
  // Of what ended otherwise than well since this was asked last, a line each.
  std::vector<std::string> TakeTrouble();

 private:
  void Work();

  const std::vector<std::string> command_;
  const std::chrono::milliseconds limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<std::string, std::string>> waiting_;  // the first one is under way
  std::vector<std::string> trouble_;
  bool ends_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace medley
