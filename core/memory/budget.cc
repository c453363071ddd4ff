#include <medley/memory/budget.h>

#include <c10/core/AllocatorConfig.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include <medley/base/bytes.h>
#include <medley/base/error.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/memory/host_memory.h>
#include <medley/memory/live_blocks.h>

namespace medley {
namespace {

Budget Available(at::Device device) {
  if (device.is_cpu()) {
    const HostMemory host = ReadHostMemory();
    const CpuMemory used = ReadCpuMemory();
    const std::int64_t free = std::min(host.total, host.available + used.now + used.data_now);
    return {.free = free, .total = host.total};
  }
  auto* allocator = c10::getDeviceAllocator(device.type());
  const auto [free, total] = allocator->getMemoryInfo(device.index());
  std::int64_t reserved = 0;  // asking for it would start the allocator
  if (allocator->initialized())
    reserved = allocator->getDeviceStats(device.index()).reserved_bytes[0].current;
  return {.free = static_cast<std::int64_t>(free) + reserved, .total = static_cast<std::int64_t>(total)};
}

// As setAllocatorSettings reads it: never rounded up, or the limit were above the budget.
std::string FractionText(double fraction) {
  char text[32];
  const double rounded = std::floor(std::min(fraction, 1.0) * 1e12) / 1e12;
  const auto result = std::to_chars(text, text + sizeof text, rounded, std::chars_format::fixed, 12);
  return {text, result.ptr};
}

}  // namespace

std::string Budget::Words() const {
  if (!asked)
    return "budget " + FormatBytes(bytes) + ": what is free of " + FormatBytes(total) +
           (kept_back > 0 ? ", but " + FormatBytes(kept_back) + " for what is no tensor" : "");
  return "budget " + FormatBytes(bytes) + " of " + FormatBytes(total) + " (" + FormatBytes(free) +
         " are free" + (bytes > free ? ": other programs must make room first)" : ")");
}

std::int64_t KeptBack(std::int64_t free, std::int64_t total, at::Device device) {
  constexpr std::int64_t kLeast = std::int64_t{1} << 30;
  if (device.is_cpu()) return KeptBackOnHost(free, total);
  return std::min(free, std::max(kLeast, total / 100));
}

Budget ResolveBudget(const BudgetRequest& request, at::Device device) {
  Budget budget = Available(device);
  budget.asked = request.kind != BudgetRequest::Kind::kFree;
  budget.kept_back = KeptBack(budget.free, budget.total, device);
  budget.bytes = budget.free - budget.kept_back;
  if (request.kind == BudgetRequest::Kind::kFraction)
    budget.bytes = static_cast<std::int64_t>(request.fraction * static_cast<double>(budget.total));
  if (request.kind == BudgetRequest::Kind::kBytes) budget.bytes = request.bytes;
  if (budget.bytes <= budget.total) return budget;
  throw InputError("budget: " + FormatBytes(budget.bytes) + " (" + std::to_string(budget.bytes) +
                   " bytes) are more than " + device.str() + " has: " + FormatBytes(budget.total) + " (" +
                   std::to_string(budget.total) + " bytes), of which " + FormatBytes(budget.free) +
                   " are free. Give less, or nothing for what is free");
}

std::string AllocatorSettings(const std::string& environment, double fraction) {
  bool decided = false;
  for (const char* key : {"expandable_segments", "max_split_size_mb", "cudaMallocAsync"})
    decided = decided || environment.find(key) != std::string::npos;
  std::string settings = decided ? "" : "expandable_segments:True,";
  if (!environment.empty()) settings += environment + ",";
  return settings + "per_process_memory_fraction:" + FractionText(fraction);
}

LaterBudget DecideLaterBudget(std::int64_t in_force, const Budget& budget) {
  if (budget.bytes == in_force) return LaterBudget::kTheSame;
  return in_force > 0 && !budget.asked ? LaterBudget::kTheFirst : LaterBudget::kMoved;
}

std::int64_t EnforceBudget(const Budget& budget, at::Device device) {
  if (device.is_cpu()) {
    SetCpuBudget(budget.bytes);
    return budget.bytes;
  }
  static std::int64_t in_force = 0;
  const double fraction = static_cast<double>(budget.bytes) / static_cast<double>(budget.total);
  if (!c10::getDeviceAllocator(device.type())->initialized()) {
    c10::CachingAllocator::setAllocatorSettings(
        AllocatorSettings(c10::CachingAllocator::getAllocatorSettings(), fraction));
  } else if (DecideLaterBudget(in_force, budget) != LaterBudget::kMoved) {
    return in_force;
  } else if (!LimitCudaMemory(fraction, device)) {
    throw Error("the budget of " + device.str() +
                " must be set before its first tensor: libtorch's allocator reads its limit once, and "
                "medley_cuda.so, which could move it, cannot be used here");
  }
  return in_force = budget.bytes;
}

void CheckFixedBytes(const Budget& budget, const MemoryLedger& fixed) {
  const std::int64_t missing = fixed.total() - budget.bytes;
  if (missing <= 0) return;
  throw Error("the budget of " + FormatBytes(budget.bytes) + " is below the " + FormatBytes(fixed.total()) +
                  " that this model needs before the first row: parameters " + FormatBytes(fixed.weights) +
                  ", gradients " + FormatBytes(fixed.gradients) + ", optimizer state " +
                  FormatBytes(fixed.optimizer) + " (" + std::to_string(fixed.total()) +
                  " bytes in all): " + FormatBytes(missing) + " (" + std::to_string(missing) +
                  " bytes) are missing, and rows need more than that. " +
                  (fixed.total() < budget.total
                       ? "Raise budget, of which this machine has " + FormatBytes(budget.total) +
                             " (medley plan CONFIG without one says how much everything takes), freeze"
                       : "This machine has no more than " + FormatBytes(budget.total) + ": freeze") +
                  " parameters (optimizer.groups), or take a smaller model",
              ExitCode::kDoesNotFit);
}

}  // namespace medley
