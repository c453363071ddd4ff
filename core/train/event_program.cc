#include <medley/train/event_program.h>

#include <medley/base/files.h>
#include <medley/base/run_program.h>

namespace medley {
namespace {

constexpr std::size_t kMostTrouble = 100;  // lines, of a run that takes none for long

}  // namespace

EventProgram::EventProgram(std::vector<std::string> command, std::chrono::milliseconds limit)
    : command_(std::move(command)), limit_(limit), thread_([this] { Work(); }) {}

EventProgram::~EventProgram() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void EventProgram::Run(const std::string& event, const std::string& input, Need need) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() > kMostWaiting && need == Need::kMayBeLeftOut) {
      if (trouble_.size() < kMostTrouble)
        trouble_.push_back("on_event: \"" + event + "\" is left out, as " + std::to_string(kMostWaiting) +
                           " events wait for " + DisplayPath(command_.front()));
      return;
    }
    waiting_.emplace_back(event, input);
  }
  changed_.notify_all();
}

std::size_t EventProgram::WaitFor(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, most, [&] { return waiting_.empty(); });
  return waiting_.size();
}

std::vector<std::string> EventProgram::TakeTrouble() {
  const std::lock_guard lock(mutex_);
  return std::exchange(trouble_, {});
}

void EventProgram::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ends_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const auto [event, input] = waiting_.front();
    lock.unlock();
    const ProgramEnd end = RunProgram(command_, input, limit_);
    lock.lock();
    if (!end.ok() && trouble_.size() < kMostTrouble)
      trouble_.push_back("on_event: " + DisplayPath(command_.front()) + ", told of \"" + event + "\", " +
                         end.Words());
    waiting_.pop_front();
    changed_.notify_all();
  }
}

}  // namespace medley
