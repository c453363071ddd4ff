#include <medley/runs/job_share.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include <medley/base/bytes.h>
#include <medley/base/suggest.h>
#include <medley/config/budget_request.h>
#include <medley/config/threads.h>
#include <medley/memory/host_memory.h>
#include <medley/report/table.h>

namespace medley {
namespace {

constexpr double kOfAGpu = 0.9;
constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;

std::string BytesText(std::int64_t bytes) {
  return bytes < 64 * kMebibyte ? std::to_string(bytes) : std::to_string(bytes / kMebibyte) + "MiB";
}

// Never rounded up.
std::string FractionText(double fraction) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, std::floor(fraction * 1e4) / 1e4);
  return {text, end.ptr};
}

std::string BudgetOfEach(const RunConfig& config, std::int64_t jobs) {
  const BudgetRequest whole = ParseBudget(config.budget);
  if (whole.kind == BudgetRequest::Kind::kBytes) return BytesText(whole.bytes / jobs);
  if (whole.kind == BudgetRequest::Kind::kFraction)
    return FractionText(whole.fraction / static_cast<double>(jobs));
  if (config.device != "cpu") return FractionText(kOfAGpu / static_cast<double>(jobs));
  const HostMemory host = ReadHostMemory();
  const std::int64_t free = std::min(host.available, host.total);
  return BytesText((free - KeptBackOnHost(free, host.total)) / jobs);
}

std::string BudgetWords(const std::string& text) {
  const BudgetRequest budget = ParseBudget(text);
  if (budget.kind == BudgetRequest::Kind::kBytes) return FormatBytes(budget.bytes);
  return FormatShare(budget.fraction) + " of the device's memory";
}

std::string ThreadsWords(const std::string& threads) {
  return threads == "1" ? "one thread" : threads + " threads";
}

}  // namespace

std::vector<std::string> ShareOfJobs(const RunConfig& config, std::int64_t jobs) {
  if (jobs < 2) return {};
  const std::int64_t threads = config.threads > 0 ? config.threads : DefaultThreads();
  return {"budget=" + BudgetOfEach(config, jobs),
          "threads=" + std::to_string(std::max<std::int64_t>(1, threads / jobs))};
}

std::string ShareWords(std::int64_t jobs, const std::vector<std::string>& share) {
  std::vector<std::string> words;
  for (const std::string& one : share) {
    const std::string value = one.substr(one.find('=') + 1);
    words.push_back(one.starts_with("budget=") ? BudgetWords(value) : ThreadsWords(value));
  }
  return std::to_string(jobs) + " jobs" + (words.empty() ? "" : ": " + JoinNames(words, " and ") + " each");
}

}  // namespace medley
