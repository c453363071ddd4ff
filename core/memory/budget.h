#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include <medley/config/budget_request.h>
#include <medley/report/memory_ledger.h>

namespace medley {

// The bytes that a run may use on its device, and what there is.
struct Budget {
  std::int64_t bytes = 0;
  std::int64_t free = 0;       // now, with what this process's tensors use already
  std::int64_t total = 0;      // of the device; on the CPU of the machine or of the control group
  bool asked = false;          // by a person, rather than all that is free
  std::int64_t kept_back = 0;  // of what is free: no tensors go there where nobody asked, and no probes

  // "budget 6 GiB of 24 GiB (23.1 GiB are free)"
  std::string Words() const;
};

// Finds what there is, on the CPU as the machine and the control groups say, on a GPU as its driver says, and
// what the request comes to. Limits nothing, and does not start a GPU's allocator. InputError for more than
// the device has.
Budget ResolveBudget(const BudgetRequest& request, at::Device device);

// Makes every allocation beyond the budget throw c10::OutOfMemoryError from now on, on whatever thread; what
// is in use stays. On a GPU, best before the first tensor: once the caching allocator has started only
// medley_cuda.so can move its limit. Returns the bytes in force: those of an earlier run of this process
// where nobody asked for others. An Error where the limit cannot be moved, which is then as it was. On the
// trainer's thread, between steps.
std::int64_t EnforceBudget(const Budget& budget, at::Device device);

// Bytes that stay free where nobody named a budget, for what no allocator of ours counts: a GPU's kernels,
// which are loaded when they are first used; on the CPU what a program has beside tensors, and gaps between
// blocks.
std::int64_t KeptBack(std::int64_t free, std::int64_t total, at::Device device);

// Settings of libtorch's caching allocator that begin with a GPU's first tensor. `environment`: those that
// are there already. A segment that grows holds blocks of any sizes; without that, memory in use depends on
// what ran before. Not where the environment decides about it, or about what it cannot be combined with.
// `fraction` of the device's bytes, never rounded up.
std::string AllocatorSettings(const std::string& environment, double fraction);

// What becomes of the budget of a run whose GPU allocator has the limit of an earlier one.
enum class LaterBudget { kTheSame, kTheFirst, kMoved };
// `in_force`: bytes of the earlier one, 0 for none. A budget that nobody asked for moves none that is in
// force.
LaterBudget DecideLaterBudget(std::int64_t in_force, const Budget& budget);

// Refuses a budget below what training needs before the first row, `fixed`: weights with the model's tables,
// gradients, optimizer. An Error with kDoesNotFit says what is needed for what, and how much is missing. What
// rows take beside it only a planner knows.
void CheckFixedBytes(const Budget& budget, const MemoryLedger& fixed);

}  // namespace medley
