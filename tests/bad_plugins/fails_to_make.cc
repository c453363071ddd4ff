// One task for each way in which making a task can fail.
#include <c10/util/Exception.h>

#include <stdexcept>

#include <medley/task/plugin.h>

#include "tests/plugin/fixtures/tiny.h"

namespace medley::testing {

struct ThrowsStd final : TinyTask {
  static constexpr TaskSpec kSpec = TinySpec("throws_std");
  explicit ThrowsStd(const TaskContext& context) : TinyTask(context) { throw std::runtime_error("no table"); }
};

struct ThrowsInt final : TinyTask {
  static constexpr TaskSpec kSpec = TinySpec("throws_int");
  explicit ThrowsInt(const TaskContext& context) : TinyTask(context) { throw 7; }
};

struct ThrowsTorch final : TinyTask {
  static constexpr TaskSpec kSpec = TinySpec("throws_torch");
  explicit ThrowsTorch(const TaskContext& context) : TinyTask(context) {
    TORCH_CHECK(false, "a tensor is wrong");
  }
};

struct ThrowsInput final : TinyTask {
  static constexpr TaskSpec kSpec = TinySpec("throws_input");
  explicit ThrowsInput(const TaskContext& context) : TinyTask(context) {
    throw InputError("images too small");
  }
};

struct RunsOut final : TinyTask {
  static constexpr TaskSpec kSpec = TinySpec("runs_out");
  explicit RunsOut(const TaskContext& context) : TinyTask(context) {
    C10_THROW_ERROR(OutOfMemoryError, "full");
  }
};

struct IsNull final : TinyTask {
  static constexpr TaskSpec kSpec = TinySpec("is_null");
  using TinyTask::TinyTask;
  static void* operator new(std::size_t) noexcept { return nullptr; }
  static void operator delete(void*) {}
};

MEDLEY_PLUGIN(ThrowsStd, ThrowsInt, ThrowsTorch, ThrowsInput, RunsOut, IsNull)

}  // namespace medley::testing
