#include <medley/train/stall_watch.h>

#include <algorithm>
#include <utility>

#include <medley/report/statistics.h>

namespace medley {

void StallClock::Begin(double now) {
  last_ = now;
  works_ = told_ = false;
}

void StallClock::Step(double now, double seconds) {
  recent_.push_back(seconds);
  if (recent_.size() > kRecent) recent_.pop_front();
  Begin(now);
}

void StallClock::Work(double now) {
  last_ = now;
  works_ = true;
}

void StallClock::WorkDone(double now) {
  last_ = now;
  works_ = false;
}

std::optional<Stall> StallClock::Look(double now) {
  if (told_ || recent_.empty()) return std::nullopt;
  const Stall stall{.seconds = now - last_, .median = MedianOf({recent_.begin(), recent_.end()})};
  if (stall.seconds < std::max(works_ ? kLeastOfWork : kLeast, kTimes * stall.median)) return std::nullopt;
  told_ = true;
  return stall;
}

StallWatch::StallWatch(Setting setting, std::function<void(const Stall&)> tell)
    : setting_(std::move(setting)), tell_(std::move(tell)), thread_([this] { Watch(); }) {}

StallWatch::~StallWatch() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void StallWatch::Begin() {
  const std::lock_guard lock(mutex_);
  clock_.Begin(setting_.now());
  signs_ = setting_.signs();
  watches_ = true;
}

void StallWatch::Step(double seconds) {
  const std::lock_guard lock(mutex_);
  clock_.Step(setting_.now(), seconds);
  signs_ = setting_.signs();
}

void StallWatch::Work() {
  const std::lock_guard lock(mutex_);
  clock_.Work(setting_.now());
}

void StallWatch::WorkDone() {
  const std::lock_guard lock(mutex_);
  clock_.WorkDone(setting_.now());
}

void StallWatch::End() {
  const std::lock_guard lock(mutex_);
  watches_ = false;
}

// Told with the lock, so that End waits for it.
void StallWatch::Watch() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, setting_.look_every, [&] { return ends_; })) {
    if (!watches_) continue;
    const double now = setting_.now();
    if (const std::uint64_t signs = setting_.signs(); std::exchange(signs_, signs) != signs) clock_.Work(now);
    if (const auto stall = clock_.Look(now)) tell_(*stall);
  }
}

}  // namespace medley
