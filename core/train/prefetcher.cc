#include <medley/train/prefetcher.h>

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>

#include <medley/base/interrupt.h>
#include <medley/base/random.h>
#include <medley/step/sample_rows.h>

namespace medley {
namespace {

constexpr std::chrono::milliseconds kHeedEvery{200};

bool RanOutOfMemory(const std::exception_ptr& error) {
  if (!error) return false;
  try {
    std::rethrow_exception(error);
  } catch (const c10::OutOfMemoryError&) {
    return true;
  } catch (...) {
    return false;
  }
}

// Adds how long it lives to both.
class Stopwatch {
 public:
  Stopwatch(double& seconds, double& also) : seconds_(seconds), also_(also) {}
  ~Stopwatch() {
    const double lived = std::chrono::duration<double>(Clock::now() - start_).count();
    seconds_ += lived;
    also_ += lived;
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  double &seconds_, &also_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

// One draw. Whoever moves it from kWaiting to kSampling is the only one to touch the results until kDone.
struct Prefetcher::Job {
  enum class State { kWaiting, kSampling, kDone };

  Draw draw;
  RowRange rows;
  at::Device device = at::kCPU;
  LoadedTask* task = nullptr;
  State state = State::kWaiting;  // under the mutex once data threads know the job
  std::optional<Batch> batch;
  std::exception_ptr error;

  void Sample() noexcept {
    try {
      batch = SampleRows(*task, rows, device);
    } catch (...) {
      error = std::current_exception();
    }
  }
};

// No data thread samples while it lives.
class Prefetcher::Pause {
 public:
  explicit Pause(Prefetcher& owner) : owner_(owner) {
    std::unique_lock lock(owner_.mutex_);
    owner_.paused_ = true;
    owner_.changed_.wait(lock, [&] { return owner_.sampling_ == 0; });
  }
  ~Pause() {
    const std::scoped_lock lock(owner_.mutex_);
    owner_.paused_ = false;
    owner_.changed_.notify_all();
  }
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

 private:
  Prefetcher& owner_;
};

Prefetcher::Prefetcher(const Setting& setting) : setting_(setting), started_(setting.threads) {
  // libtorch keeps a number for each thread, and one for threads to come: the data threads set both.
  const int threads = at::get_num_threads();
  for (std::int64_t i = 0; i < setting_.threads; ++i) {
    threads_.emplace_back([this](std::stop_token stop) {
      ::pthread_setname_np(::pthread_self(), "medley-data");
      if (at::get_num_threads() != 1) at::set_num_threads(1);
      started_.count_down();
      Work(std::move(stop));
    });
  }
  started_.wait();
  if (!threads_.empty()) at::set_num_threads(threads);
}

Prefetcher::~Prefetcher() {
  for (std::jthread& thread : threads_) thread.request_stop();
}

void Prefetcher::Expect(const std::vector<Draw>& draws) {
  if (threads_.empty()) return;
  std::deque<JobPtr> window;
  for (const Draw& draw : draws) {
    JobPtr known = Find(draw);
    window.push_back(known ? std::move(known) : Prepare(draw));
  }
  const std::scoped_lock lock(mutex_);
  window_.swap(window);
  changed_.notify_all();
}

Prefetcher::Rows Prefetcher::Take(const std::vector<Draw>& draws) {
  Rows rows;
  for (const Draw& draw : draws) {
    HeedInterrupt();
    taking_ = draw.task;
    const JobPtr job = Collect(draw);
    if (job->error) std::rethrow_exception(job->error);
    rows.batches.push_back(std::move(*job->batch));
    rows.pieces.push_back({job->task, &rows.batches.back(), &setting_.plan.Of(draw.task)});
  }
  taking_.clear();
  return rows;
}

RowRange Prefetcher::RangeOf(const Draw& draw) const {
  return {TaskSeed(setting_.seed, draw.task), draw.begin, draw.rows};
}

LoadedTask& Prefetcher::Checked(const std::string& name) {
  const Form& form = setting_.plan.FormOf(name);
  if (LoadedTask* task = setting_.host.Find(form.id); task != nullptr && setting_.contract.Knows(*task))
    return *task;
  const Pause pause(*this);
  LoadedTask& task = setting_.host.Get(form);
  // A planner checks before there is a budget to keep: all passes at once may not fit into it.
  // Always the same rows: whether the check fits must not depend on where a run is resumed.
  if (!setting_.contract.Knows(task))
    setting_.contract.Check(task, {.seed = TaskSeed(setting_.seed, name), .begin = 0, .count = 1});
  return task;
}

Prefetcher::JobPtr Prefetcher::Prepare(const Draw& draw) {
  auto job = std::make_shared<Job>();
  job->draw = draw;
  job->rows = RangeOf(draw);
  job->device = setting_.device;
  try {
    job->task = &Checked(draw.task);
  } catch (...) {
    job->error = std::current_exception();
    job->state = Job::State::kDone;
  }
  return job;
}

Prefetcher::JobPtr Prefetcher::Find(const Draw& draw) const {
  const auto found = std::ranges::find_if(window_, [&](const JobPtr& job) {
    return job->draw.task == draw.task && job->draw.begin == draw.begin && job->draw.rows == draw.rows;
  });
  return found == window_.end() ? nullptr : *found;
}

// Waits for it if somebody has begun; nothing where nobody has.
Prefetcher::JobPtr Prefetcher::Withdraw(const Draw& draw) {
  JobPtr job = Find(draw);
  if (!job) return nullptr;
  std::unique_lock lock(mutex_);
  std::erase(window_, job);
  if (job->state == Job::State::kWaiting) return nullptr;
  while (!changed_.wait_for(lock, kHeedEvery, [&] { return job->state == Job::State::kDone; }))
    HeedInterrupt();
  return job;
}

Prefetcher::JobPtr Prefetcher::Collect(const Draw& draw) {
  {
    const Stopwatch watch(seconds_waited_, waits_[draw.task]);
    JobPtr job = Withdraw(draw);
    if (job && !RanOutOfMemory(job->error)) return job;
    // Running ahead may be what took the memory.
    if (job) ForgetAll();
  }
  JobPtr job = Prepare(draw);
  const Stopwatch watch(seconds_waited_, waits_[draw.task]);
  if (!job->error) job->Sample();
  return job;
}

void Prefetcher::ForgetAll() {
  WhileIdle([] {});
}

void Prefetcher::WhileIdle(const std::function<void()>& work) {
  Expect({});
  const Pause until_none_samples(*this);
  work();
}

void Prefetcher::Work(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  const auto has_work = [this] { return !paused_ && NextWaiting() != nullptr; };
  while (changed_.wait(lock, stop, has_work) && !stop.stop_requested()) {
    const JobPtr job = NextWaiting();
    job->state = Job::State::kSampling;
    ++sampling_;
    lock.unlock();
    job->Sample();
    lock.lock();
    job->state = Job::State::kDone;
    --sampling_;
    changed_.notify_all();
  }
}

Prefetcher::JobPtr Prefetcher::NextWaiting() const {
  const auto waiting = [](const JobPtr& job) { return job->state == Job::State::kWaiting; };
  const auto found = std::ranges::find_if(window_, waiting);
  return found == window_.end() ? nullptr : *found;
}

}  // namespace medley
