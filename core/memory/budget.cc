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
  if (!asked) return "budget " + FormatBytes(bytes) + ": what is free of " + FormatBytes(total);
  return "budget " + FormatBytes(bytes) + " of " + FormatBytes(total) + " (" + FormatBytes(free) +
         " are free" + (bytes > free ? ": other programs must make room first)" : ")");
}

Budget ResolveBudget(const BudgetRequest& request, at::Device device) {
  Budget budget = Available(device);
  budget.asked = request.kind != BudgetRequest::Kind::kFree;
  budget.bytes = budget.free;
  if (request.kind == BudgetRequest::Kind::kFraction)
    budget.bytes = static_cast<std::int64_t>(request.fraction * static_cast<double>(budget.total));
  if (request.kind == BudgetRequest::Kind::kBytes) budget.bytes = request.bytes;
  if (budget.bytes <= budget.total) return budget;
  throw InputError("budget: " + FormatBytes(budget.bytes) + " (" + std::to_string(budget.bytes) +
                   " bytes) are more than " + device.str() + " has: " + FormatBytes(budget.total) + " (" +
                   std::to_string(budget.total) + " bytes), of which " + FormatBytes(budget.free) +
                   " are free. Give less, or nothing for what is free");
}

void EnforceBudget(const Budget& budget, at::Device device) {
  if (device.is_cpu()) return SetCpuBudget(budget.bytes);
  if (c10::getDeviceAllocator(device.type())->initialized()) {
    throw Error("the budget of " + device.str() +
                " must be set before its first tensor: libtorch's allocator reads its limit once");
  }
  // Beside the settings that the environment gave.
  const std::string before = c10::CachingAllocator::getAllocatorSettings();
  const double fraction = static_cast<double>(budget.bytes) / static_cast<double>(budget.total);
  c10::CachingAllocator::setAllocatorSettings((before.empty() ? "" : before + ",") +
                                              "per_process_memory_fraction:" + FractionText(fraction));
}

void CheckFixedBytes(const Budget& budget, const MemoryLedger& fixed) {
  const std::int64_t missing = fixed.total() - budget.bytes;
  if (missing <= 0) return;
  throw Error("the budget of " + FormatBytes(budget.bytes) + " is below the " + FormatBytes(fixed.total()) +
                  " that this model needs before the first row: weights " + FormatBytes(fixed.weights) +
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
