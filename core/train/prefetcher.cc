#include <medley/train/prefetcher.h>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>

#include <medley/base/error.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/model/device.h>

namespace medley {
namespace {

// Operations stay on their thread while this lives: a data thread must not take the trainer's cores, and what
// is sampled must not depend on whose thread it is.
class OneThread {
 public:
  OneThread() : before_(at::get_num_threads()) {
    if (before_ != 1) at::set_num_threads(1);
  }
  ~OneThread() {
    if (before_ != 1) at::set_num_threads(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

// On any thread.
Batch SampleRows(const LoadedTask& task, const RowRange& rows, at::Device device) {
  const MemoryOwnerScope owner(MemoryOwner::kData);
  const OneThread one_thread;
  const at::NoGradGuard no_grad;
  Batch batch = task.Sample(rows);
  return device.is_cuda() ? batch.Pinned() : batch;
}

RowRange RangeOf(const Run& run, const Draw& draw, std::int64_t rows) {
  return {TaskSeed(static_cast<std::uint64_t>(run.config.seed), draw.task), draw.begin, rows};
}

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

// Adds how long it lives.
class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds) {}
  ~Stopwatch() { seconds_ += std::chrono::duration<double>(Clock::now() - start_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  double& seconds_;
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

Prefetcher::Prefetcher(Run& run) : run_(run), started_(run.config.data.threads) {
  // libtorch keeps a number for each thread, and one for threads to come: the data threads set both.
  const int threads = at::get_num_threads();
  for (std::int64_t i = 0; i < run_.config.data.threads; ++i) {
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
    const JobPtr job = Collect(draw);
    if (job->error) std::rethrow_exception(job->error);
    rows.batches.push_back(std::move(*job->batch));
    rows.pieces.push_back({job->task, &rows.batches.back(), &run_.plans.at(draw.task)});
  }
  return rows;
}

LoadedTask& Prefetcher::Checked(const Draw& draw) {
  if (checked_.count(draw.task) != 0) return run_.task(draw.task);
  // Loading moves, for a moment, what other plugins' code may read.
  const Pause pause(*this);
  LoadedTask& task = run_.task(draw.task);
  CheckTask(task, draw);
  checked_.insert(draw.task);
  return task;
}

// Must leave no trace: a resumed run makes this check at another step than one that was never interrupted.
void Prefetcher::CheckTask(LoadedTask& task, const Draw& draw) {
  const KeepGenerators keep(run_.device);
  const nlohmann::json before = SaveGenerators(run_.device);
  const Batch row = SampleRows(task, RangeOf(run_, draw, 1), run_.device);
  if (SaveGenerators(run_.device) != before) {
    throw Error("plugin '" + task.plugin() + "' (task " + draw.task +
                ", while sampling): it drew from libtorch's own generator, so its rows would depend on what "
                "was drawn before; draw from rows.Random(row) instead");
  }
  // A planner checks before there is a budget to keep: all passes at once may not fit into it.
  if (!run_.executor->WasChecked(task)) run_.executor->CheckContract(task, row);
}

Prefetcher::JobPtr Prefetcher::Prepare(const Draw& draw) {
  auto job = std::make_shared<Job>();
  job->draw = draw;
  job->rows = RangeOf(run_, draw, draw.rows);
  job->device = run_.device;
  try {
    job->task = &Checked(draw);
  } catch (...) {
    job->error = std::current_exception();
    job->state = Job::State::kDone;
  }
  return job;
}

Prefetcher::JobPtr Prefetcher::Find(const Draw& draw) const {
  const auto found = std::find_if(window_.begin(), window_.end(), [&](const JobPtr& job) {
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
  changed_.wait(lock, [&] { return job->state == Job::State::kDone; });
  return job;
}

Prefetcher::JobPtr Prefetcher::Collect(const Draw& draw) {
  {
    const Stopwatch watch(seconds_waited_);
    JobPtr job = Withdraw(draw);
    if (job && !RanOutOfMemory(job->error)) return job;
    // Running ahead may be what took the memory.
    if (job) ForgetAll();
  }
  JobPtr job = Prepare(draw);
  const Stopwatch watch(seconds_waited_);
  if (!job->error) job->Sample();
  return job;
}

void Prefetcher::ForgetAll() {
  Expect({});
  const Pause until_none_samples(*this);
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
  const auto found = std::find_if(window_.begin(), window_.end(), waiting);
  return found == window_.end() ? nullptr : *found;
}

}  // namespace medley
