#include <medley/report/slowdown.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <medley/base/libraries.h>
#include <medley/report/progress.h>
#include <medley/report/table.h>

namespace medley {
namespace {

constexpr double kSlow = 4, kAsBefore = 2;   // times as long
constexpr double kPart = 10, kLong = 60;     // seconds
constexpr double kMuch = 0.5, kSome = 0.25;  // of the time
constexpr double kManyPages = 20;            // a second

std::string Percent(double share) { return std::to_string(std::lround(100 * share)) + " %"; }

double SumOf(const std::map<std::string, double>& seconds) {
  return std::accumulate(seconds.begin(), seconds.end(), 0.0,
                         [](double sum, const auto& one) { return sum + one.second; });
}

// "" where nobody else holds the cores.
std::string OthersWords(const MachineLoad& load, const SlowdownSetting& setting) {
  const double cores = static_cast<double>(load.cores), threads = static_cast<double>(setting.threads);
  const double others = std::clamp((load.busy - load.own) / load.time, 0.0, cores);
  const double free = cores - others;
  if (others < kMuch || threads < free + kMuch) return "";
  const char* const who = setting.alone ? "other programs" : "other programs and processes of the run";
  std::string words =
      who + (" keep " + FormatNumber(std::round(10 * others) / 10) + " of " + std::to_string(load.cores) +
             (load.cores == 1 ? " core" : " cores") + " busy (see top)");
  const std::int64_t fitting = std::max<std::int64_t>(1, static_cast<std::int64_t>(free + kSome));
  if (setting.threads > fitting) {
    words +=
        ", and the run's " + std::to_string(setting.threads) +
        " threads wait for each other. End those programs, or end the run with Ctrl-C and go on with fewer "
        "threads: " +
        setting.resume + " threads=" + std::to_string(fitting);
  } else {
    words += ". The run is as fast as before when they end";
  }
  if (setting.threads > 1 && WaitingThreadsSpin())
    words += ". Its threads spin while they wait; with OMP_WAIT_POLICY=passive in the environment they sleep";
  return words;
}

std::string MachineWords(const MachineLoad& load, const SlowdownSetting& setting) {
  if (!(load.time > 0)) return "";
  if (load.throttled >= kSome * load.time)
    return "its container had used up its share of the CPU in " + Percent(load.throttled / load.time) +
           " of the time; give it more, or the run fewer threads (" + setting.resume + " threads=1)";
  const double stolen = load.stolen / load.time / static_cast<double>(load.cores);
  if (stolen >= kSome)
    return "the host of this virtual machine gave " + Percent(stolen) + " of its cores' time to others";
  if (const double pages = static_cast<double>(load.pages) / load.time; pages >= kManyPages)
    return "the machine is short of memory: " + FormatNumber(std::round(pages)) +
           " times a second the run waited for a page from the disk";
  return OthersWords(load, setting);
}

}  // namespace

std::string CauseOf(const SlowTime& slow, const SlowdownSetting& setting) {
  if (const double waited = SumOf(slow.data); waited >= kMuch * slow.seconds)
    return DataWaitWords(waited / slow.seconds, slow.data, setting.data_threads);
  if (slow.peers >= kMuch * slow.seconds)
    return Percent(slow.peers / slow.seconds) + " waiting for other processes of the run" +
           (slow.ranks.any() ? "; rank " + std::to_string(slow.ranks.Slowest()) + " is the slowest" : "");
  if (slow.cut >= kMuch * slow.seconds)
    return "memory ran out, and draws run in fewer rows at once since then";
  if (std::string words = MachineWords(slow.load, setting); !words.empty()) return words;
  if (!setting.on_cpu)
    return "not the load of its CPU cores; nvidia-smi shows whether another program uses the GPU, and "
           "whether "
           "it is too hot";
  return "nothing else loads its cores; a CPU that is too hot or saves power does so";
}

Slowdown::Slowdown(SlowdownSetting setting, Console& console)
    : setting_(std::move(setting)), console_(console) {
  BeginPart();
}

void Slowdown::BeginPart() {
  work_ = {};
  part_ = {};
  expected_ = 0;
  part_began_ = setting_.load();
}

void Slowdown::Take(const StepRecord& record) {
  const StepWork work = WorkOf(record);
  const std::optional<double> expected = usual_.Expected(work);
  if (!expected) return usual_.LearnNew(work);
  Add(record, work, *expected);
  if (part_.seconds >= kPart) Judge(record.step);
}

void Slowdown::Add(const StepRecord& record, const StepWork& work, double expected) {
  work_.Add(work);
  expected_ += expected;
  part_.seconds += work.seconds();
  for (const auto& [task, milliseconds] : record.data_waits) part_.data[task] += milliseconds / 1000;
  part_.peers += record.peer_wait_ms / 1000;
  part_.ranks.Add(record.rank_work_ms);
  for (const DrawReceipt& draw : record.receipts) part_.cut += draw.cut ? draw.seconds : 0;
}

void Slowdown::Judge(std::int64_t step) {
  const double times = part_.seconds / std::max(expected_, 1e-9);
  if (times < kAsBefore) {
    usual_.Learn(work_);
    said_ = false;
  }
  if (times < kSlow) {
    slow_parts_ = 0;
    return BeginPart();
  }
  if (slow_parts_++ == 0) {
    slow_ = {};
    slow_expected_ = 0;
    slow_began_ = part_began_;
  }
  slow_.seconds += part_.seconds;
  slow_expected_ += expected_;
  for (const auto& [task, seconds] : part_.data) slow_.data[task] += seconds;
  slow_.peers += part_.peers;
  slow_.ranks = part_.ranks;  // who is slow by now
  slow_.cut += part_.cut;
  BeginPart();
  if (said_ || slow_parts_ < 2 || slow_.seconds < kLong) return;
  said_ = true;
  slow_.load = part_began_ - slow_began_;
  console_.Warn("step " + std::to_string(step) + ": for a minute rows have taken " +
                FormatNumber(std::round(10 * slow_.seconds / slow_expected_) / 10) +
                " times as long as rows of the same tasks before: " + CauseOf(slow_, setting_));
}

}  // namespace medley
