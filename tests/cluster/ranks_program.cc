// ranks_program CONFIG RUN WORDS [KEY=VALUE...]: trains a run as `medley train` does, with the other
// processes that it was started with, step by step, and writes after each a line into WORDS.<rank>: the step
// and the sums of weights and optimizer. With RESUME for CONFIG the run goes on. ON_RANK=R, a fault for the
// process with this rank: before step AT, and with AT=0 before anything, FAULT is kill|stop|interrupt|save,
// kill:MS|stop:MS so many milliseconds later, disk for one that takes no large file any more, hold for
// kHeldBytes that stay in use, overflow for one gradient that is not finite, overflow:interrupt for one at
// which somebody asks to stop, or memory:N for the N-th allocation from then on. With FAULT=memory:each:N it
// is the N-th of the first step, the next one of the next step, and so on. A step that is trained by itself
// is saved at its end; with FAULT=save|hold all steps from AT on are trained in one go.
#include <medley/base/file_digest.h>
#include <medley/base/interrupt.h>
#include <medley/base/stop_signal.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/session/parts.h>
#include <medley/train/failure.h>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <limits>
#include <string_view>
#include <thread>
#include <utility>

namespace medley {
namespace {

constexpr std::string_view kEach = "memory:each:";
constexpr std::int64_t kHeldBytes = 51 << 20;

std::string SumOf(const std::vector<Parameter>& tensors) {
  std::string text;
  for (const Parameter& parameter : tensors) {
    const at::Tensor values = parameter.tensor.detach().contiguous();
    text += parameter.name;
    text.append(static_cast<const char*>(values.const_data_ptr()), values.nbytes());
  }
  return HashText(text);
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Wherever the trainer is by then.
void SignalIn(const std::string& milliseconds, int signal) {
  std::thread([ms = std::stol(milliseconds), signal] {
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    ::kill(::getpid(), signal);
  }).detach();
}

// Every task takes as many rows at once again as its plan says.
void GrowBack(PlanInForce& plan, const Mixer& mixer) {
  for (const auto& [task, share] : mixer.Shares())
    plan.Fitted(std::vector<Draw>(1 << 14, Draw{.task = task, .begin = 0, .rows = 1 << 10}));
}

// For this process: files of more than 16 KiB do not fit.
void FillDisk() {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = 1 << 14;
  ::setrlimit(RLIMIT_FSIZE, &limit);
}

// As a task would that keeps what it is given.
void Hold() {
  static std::vector<at::Tensor> held;
  held.push_back(at::empty({kHeldBytes}, at::kByte));
}

void Fail(const std::string& fault) {
  if (fault.starts_with("kill:")) return SignalIn(fault.substr(5), SIGKILL);
  if (fault.starts_with("stop:")) return SignalIn(fault.substr(5), SIGSTOP);
  if (fault == "kill") std::raise(SIGKILL);
  if (fault == "stop") std::raise(SIGSTOP);
  if (fault == "interrupt") std::raise(SIGTERM);
  if (fault == "save") std::raise(SIGUSR1);
  if (fault == "disk") FillDisk();
  if (fault == "hold") Hold();
  if (fault.starts_with("memory:")) FailCpuAllocation(std::stoll(fault.substr(7)));
}

// Of a model with adapters most have no gradient.
const Parameter& FirstTrained(const Model& model) {
  return *std::ranges::find_if(model.parameters(),
                               [](const Parameter& parameter) { return parameter.tensor.requires_grad(); });
}

int Main(int argc, char** argv) {
  const std::string config = argv[1], words = argv[3];
  const std::filesystem::path path = argv[2];
  const auto cluster = std::make_shared<Cluster>(FindRankPlace());
  const std::int64_t rank = cluster->place().rank;
  const std::vector<std::string> overrides(argv + 4, argv + argc);
  const StopSignal stop;
  Console console(rank == 0 ? stdout : std::fopen("/dev/null", "we"));
  std::ofstream out(words + "." + std::to_string(rank));
  const bool fails = Variable("ON_RANK") == std::to_string(rank);
  if (fails && Variable("AT") == "0") Fail(Variable("FAULT"));
  std::unique_ptr<SessionParts> parts;
  if (config == "RESUME") {
    parts = ResumeTogether(OpenRunDirectory(*cluster, path), path,
                           {.overrides = overrides, .cluster = cluster}, console)
                .parts;
  } else {
    parts = BeginRun({.config = config, .overrides = overrides, .cluster = cluster}, path, nullptr, console);
  }
  if (parts == nullptr) return static_cast<int>(ExitCode::kDone);  // all of its steps were done
  const medley::Run& run = *parts->planned->run;
  const auto overflows = std::make_shared<bool>(false);
  FirstTrained(*run.model).tensor.register_hook([overflows](const at::Tensor& gradient) {
    if (!std::exchange(*overflows, false)) return gradient;
    if (Variable("FAULT").ends_with(":interrupt")) std::raise(SIGTERM);
    return gradient * std::numeric_limits<double>::infinity();
  });
  ExitCode code = ExitCode::kDone;
  std::int64_t each =
      Variable("FAULT").starts_with(kEach) ? std::stol(Variable("FAULT").substr(kEach.size())) : 0;
  while (parts->trainer.step() < run.config.steps && code == ExitCode::kDone) {
    const std::int64_t step = parts->trainer.step() + 1;
    if (fails && Variable("FAULT").starts_with(kEach)) {
      GrowBack(parts->planned->plan, *run.mixer);
      FailCpuAllocation(each++);
    } else if (fails && Variable("AT") == std::to_string(step) && Variable("FAULT").starts_with("overflow")) {
      *overflows = true;
    } else if (fails && Variable("AT") == std::to_string(step)) {
      Fail(Variable("FAULT"));
    }
    const bool in_one_go = Variable("AT") == std::to_string(step) &&
                           (Variable("FAULT") == "save" || Variable("FAULT") == "hold");
    code = parts->trainer.Train(in_one_go ? run.config.steps : step);
    out << parts->trainer.step() << ' ' << SumOf(run.optimizer->weights().list()) << ' '
        << SumOf(run.optimizer->State()) << '\n'
        << std::flush;
    if (parts->trainer.step() < step) break;
  }
  return static_cast<int>(code);
}

}  // namespace
}  // namespace medley

int main(int argc, char** argv) {
  try {
    return medley::Main(argc, argv);
  } catch (const std::exception& error) {
    const medley::Failure failure = medley::Failure::Of(error);
    std::cerr << "medley: " << failure.reason << '\n';
    return static_cast<int>(failure.code);
  }
}
