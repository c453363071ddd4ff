#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <medley/model/parallel_for.h>

namespace medley {
namespace {

struct ThreadsInUse {
  explicit ThreadsInUse(int threads) { at::set_num_threads(threads); }
  ~ThreadsInUse() { at::set_num_threads(before); }
  int before = at::get_num_threads();
};

std::size_t ThreadsOf(std::int64_t numbers, std::int64_t grain) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::vector<int> times(static_cast<std::size_t>(numbers));
  ParallelFor(0, numbers, grain, [&](std::int64_t begin, std::int64_t end) {
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
    for (std::int64_t i = begin; i < end; ++i) ++times[static_cast<std::size_t>(i)];
  });
  EXPECT_EQ(times, std::vector<int>(times.size(), 1));
  return threads.size();
}

TEST(ParallelFor, TakesAsManyThreadsAsLibtorchHasAndNoMoreThanTheGrainAllows) {
  const ThreadsInUse three(3);
  EXPECT_EQ(ThreadsOf(100, 10), 3U);
  EXPECT_EQ(ThreadsOf(19, 10), 2U);
  EXPECT_EQ(ThreadsOf(10, 10), 1U);
  EXPECT_EQ(ThreadsOf(0, 10), 0U);
  const ThreadsInUse one(1);
  EXPECT_EQ(ThreadsOf(100, 10), 1U);
}

TEST(ParallelFor, ThrowsWhatARangeThrows) {
  const ThreadsInUse two(2);
  const auto throws = [](std::int64_t, std::int64_t) { throw std::runtime_error("a range"); };
  EXPECT_THROW(ParallelFor(0, 100, 1, throws), std::runtime_error);
}

}  // namespace
}  // namespace medley
