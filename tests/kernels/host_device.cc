// Threads of a block as fibers: each has a stack, and leaves it at a barrier by longjmp, which costs a
// fiftieth of swapcontext. A fiber whose thread ends goes on with the next thread, so that a kernel without
// barriers has one.
#undef _FORTIFY_SOURCE  // it takes a jump to another stack for an error
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/host_device.h"
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

// Whoever counts launches.
extern "C" void medley_fake_cuda_launched() __attribute__((weak));

namespace medley::kernels {
namespace {

constexpr unsigned kLanes = 32;
constexpr std::size_t kStackBytes = std::size_t{1} << 17, kGuardBytes = 4096;

enum class State : char { kNew, kAtWarp, kAtBlock, kEnded };

// Each begins at another place of a page: else all would share a few lines of the cache.
class Stack {
 public:
  explicit Stack(std::size_t index)
      : size_(kStackBytes - kGuardBytes - index % 61 * 64),
        memory_(mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED || mprotect(memory_, kGuardBytes, PROT_NONE) != 0)
      throw std::runtime_error("no memory for a stack of a kernel's thread");
  }
  ~Stack() { munmap(memory_, kStackBytes); }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  void* begin() const { return static_cast<char*>(memory_) + kGuardBytes; }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_;
  void* memory_;
};

struct Fiber {
  explicit Fiber(std::size_t index) : stack(index) {}

  Stack stack;
  ucontext_t start;
  jmp_buf context;
  bool has_begun = false;
};

// Returns when somebody switches to `from`.
[[gnu::noinline]] void Switch(jmp_buf& from, jmp_buf& to) {
  if (_setjmp(from) == 0) _longjmp(to, 1);
}

bool g_is_reversed = false;

class Device;
// Of the host's thread, from its first launch on. Each step of a kernel's thread reads it.
thread_local Device* g_device = nullptr;

// The blocks of a launch, of one thread of the host's.
class Device {
 public:
  static Device& This() { return *g_device; }

  HostThread thread{};

  const char* Run(std::size_t blocks, unsigned threads, std::size_t shared_bytes,
                  const std::function<void()>& kernel) {
    if (blocks > 0x7fffffff) return "more blocks than a launch has";
    if (threads == 0 || threads > 1024 || threads % kLanes != 0)
      return Problem("a block has no whole warps, or too many");
    if (shared_bytes > 48 << 10) return Problem("a block has more shared memory than every card has");
    kernel_ = &kernel;
    thread.threads.x = threads, thread.blocks.x = static_cast<unsigned>(blocks);
    const std::size_t pieces = (shared_bytes + sizeof(float4) - 1) / sizeof(float4);
    const auto shared = std::make_unique<float4[]>(pieces);
    thread.shared = reinterpret_cast<float*>(shared.get());
    threads_.resize(threads);
    const char* words = nullptr;
    for (std::size_t i = 0; i < blocks && words == nullptr; ++i) {
      thread.block.x = static_cast<unsigned>(g_is_reversed ? blocks - 1 - i : i);
      std::memset(shared.get(), 0xff, pieces * sizeof(float4));  // what is read must have been written
      words = RunBlock(threads);
    }
    if (words == nullptr && medley_fake_cuda_launched != nullptr) medley_fake_cuda_launched();
    return words;
  }

  // What a kernel's thread calls.
  void Wait(State state) {
    threads_[thread.thread.x].state = state;
    ++next_;
    LeaveFiber(false);
  }
  const std::uint32_t* Exchange(std::uint32_t bits) {
    const unsigned index = thread.thread.x;
    // A lane is never two exchanges ahead of another.
    std::uint32_t* const sent = sent_[threads_[index].exchanges++ % 2].data() + index;
    *sent = bits;
    Wait(State::kAtWarp);
    return sent - index % kLanes;
  }

 private:
  struct alignas(16) float4 {
    float at[4];
  };
  struct OfThread {
    State state;
    unsigned exchanges;
    Fiber* fiber;
  };

  const char* Problem(const char* words) {
    problem_ = std::string("the stand-in for a GPU: ") + words;
    return problem_.c_str();
  }

  const char* RunBlock(unsigned threads) {
    std::fill(threads_.begin(), threads_.end(),
              OfThread{.state = State::kNew, .exchanges = 0, .fiber = nullptr});
    State all = State::kNew;
    while (all != State::kEnded) {
      for (unsigned i = 0; i < threads; i += kLanes) {
        const unsigned first = g_is_reversed ? threads - kLanes - i : i;
        do {
          RunLanes(first);
          if (!Agree(first, kLanes))
            return Abandon("not all threads of a warp come to the same barrier or shuffle");
        } while (threads_[first].state == State::kAtWarp);
      }
      if (!Agree(0, threads)) return Abandon("not all threads of a block come to the same barrier");
      all = threads_[0].state;
    }
    return nullptr;
  }

  bool Agree(unsigned first, unsigned count) const {
    const auto begin = threads_.begin() + first;
    return std::all_of(begin, begin + count, [&](const OfThread& one) { return one.state == begin->state; });
  }
  // Their stacks are full of what waits.
  const char* Abandon(const char* words) {
    free_.clear(), fibers_.clear();
    return Problem(words);
  }

  unsigned Index(unsigned next) const { return g_is_reversed ? first_ + kLanes - 1 - next : first_ + next; }

  // Each lane to its next barrier or its end.
  void RunLanes(unsigned first) {
    first_ = first, next_ = 0;
    while (next_ < kLanes) {
      thread.thread.x = Index(next_);
      Fiber* fiber = threads_[thread.thread.x].fiber;
      if (fiber == nullptr) fiber = Take();
      Enter(fiber);
    }
  }

  Fiber* Take() {
    if (free_.empty()) {
      fibers_.push_back(std::make_unique<Fiber>(fibers_.size()));
      return fibers_.back().get();
    }
    Fiber* const fiber = free_.back();
    free_.pop_back();
    return fiber;
  }

  void Enter(Fiber* fiber) {
    now_ = fiber;
#ifdef __SANITIZE_ADDRESS__
    void* fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, fiber->stack.begin(), fiber->stack.size());
#endif
    if (fiber->has_begun) {
      Switch(outside_, fiber->context);
    } else if (_setjmp(outside_) == 0) {
      fiber->has_begun = true;
      getcontext(&fiber->start);
      fiber->start.uc_stack.ss_sp = fiber->stack.begin();
      fiber->start.uc_stack.ss_size = fiber->stack.size();
      makecontext(
          &fiber->start, [] { This().Work(); }, 0);
      setcontext(&fiber->start);
    }
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
  }
  // To the next lane, where it waits in a fiber; else to where lanes are run from.
  void LeaveFiber(bool is_free) {
    Fiber *const fiber = now_, *const next = next_ < kLanes ? threads_[Index(next_)].fiber : nullptr;
    if (is_free) free_.push_back(fiber);
    if (next != nullptr) thread.thread.x = Index(next_), now_ = next;
#ifdef __SANITIZE_ADDRESS__
    void* fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, next != nullptr ? next->stack.begin() : outside_stack_,
                                   next != nullptr ? next->stack.size() : outside_bytes_);
#endif
    Switch(fiber->context, next != nullptr ? next->context : outside_);
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
  }

  // What a fiber does, for ever.
  [[noreturn]] void Work() {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(nullptr, &outside_stack_, &outside_bytes_);
#endif
    for (;;) {
      while (next_ < kLanes && threads_[Index(next_)].state == State::kNew) {
        thread.thread.x = Index(next_);
        threads_[thread.thread.x].fiber = now_;
        (*kernel_)();
        threads_[thread.thread.x].state = State::kEnded;
        ++next_;
      }
      LeaveFiber(true);
    }
  }

  const std::function<void()>* kernel_ = nullptr;
  std::vector<OfThread> threads_;
  std::array<std::array<std::uint32_t, 1024>, 2> sent_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> free_;
  Fiber* now_ = nullptr;
  unsigned first_ = 0, next_ = 0;  // of the warp that runs: its first thread, and which of its lanes is next
  jmp_buf outside_;
  const void* outside_stack_ = nullptr;
  std::size_t outside_bytes_ = 0;
  std::string problem_;
};

}  // namespace

HostThread& ThisHostThread() { return Device::This().thread; }
const char* RunOnHost(std::size_t blocks, unsigned threads, std::size_t shared_bytes,
                      const std::function<void()>& kernel) {
  static thread_local Device device;
  g_device = &device;
  return device.Run(blocks, threads, shared_bytes, kernel);
}
void WaitForBlock() { Device::This().Wait(State::kAtBlock); }
const std::uint32_t* ExchangedInWarp(std::uint32_t bits) { return Device::This().Exchange(bits); }

}  // namespace medley::kernels

// Blocks, and threads between two barriers, from last to first: a kernel whose results depend on their order
// has a race.
extern "C" void medley_host_kernels_reverse(bool is_reversed) {
  medley::kernels::g_is_reversed = is_reversed;
}
