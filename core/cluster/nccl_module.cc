// The one source that sees NCCL's header. Opened at run time, behind libtorch_cuda.so, which has all that it
// needs; see nccl_group.cc.
#define USE_C10D_NCCL
#include <medley/cluster/nccl_module.h>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include <cstdlib>

// c10d's options hold NCCL's by value: with another header all behind them would lie elsewhere.
static_assert(NCCL_VERSION_CODE == MEDLEY_NCCL_VERSION_CODE,
              "nccl.h is not of the NCCL that libtorch was built with");

const std::size_t medley::medley_nccl_sizes[2] = {sizeof(c10d::ProcessGroupNCCL),
                                                  sizeof(c10d::ProcessGroupNCCL::Options)};

extern "C" void medley_make_nccl(c10::intrusive_ptr<c10d::Backend>& made,
                                 const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                 std::chrono::milliseconds timeout) {
  // Who waits is told of failures; else a thread of c10d's would look for them, and end the process.
  ::setenv("TORCH_NCCL_BLOCKING_WAIT", "1", /*overwrite=*/1);
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = timeout;
  made = c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank, size, std::move(options));
}
