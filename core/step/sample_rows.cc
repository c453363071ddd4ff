#include <medley/step/sample_rows.h>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <utility>

#include <medley/memory/cpu_allocator.h>

namespace medley {
namespace {

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

}  // namespace

Batch SampleAlone(const LoadedTask& task, const RowRange& rows) {
  const OneThread one_thread;
  const at::NoGradGuard no_grad;
  return task.Sample(rows);
}

Batch SampleRows(const LoadedTask& task, const RowRange& rows, at::Device device) {
  const MemoryOwnerScope owner(MemoryOwner::kData);
  return ReadyFor(device, SampleAlone(task, rows));
}

Batch ReadyFor(at::Device device, Batch rows) { return device.is_cuda() ? rows.Pinned() : std::move(rows); }

}  // namespace medley
