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
  std::int64_t free = 0;   // now, with what this process's tensors use already
  std::int64_t total = 0;  // of the device; on the CPU of the machine or of the control group
  bool asked = false;      // by a person, rather than all that is free

  // "budget 6 GiB of 24 GiB (23.1 GiB are free)"
  std::string Words() const;
};

// On the CPU as the machine and the control groups say, on a GPU as its driver says. InputError for more than
// the device has.
Budget ResolveBudget(const BudgetRequest& request, at::Device device);

// From now on an allocation beyond the budget throws c10::OutOfMemoryError. On a GPU the caching allocator
// reads its limit once, when it starts: an Error where it has started.
void EnforceBudget(const Budget& budget, at::Device device);

// `fixed`: what training needs before the first row: weights with the model's tables, gradients, optimizer.
// An Error with kDoesNotFit that says what is needed for what, and how much is missing. What rows take beside
// it only a planner knows.
void CheckFixedBytes(const Budget& budget, const MemoryLedger& fixed);

}  // namespace medley
