// ranks_program CONFIG RUN WORDS [KEY=VALUE...]: trains a run as `medley train` does, with the other
// processes that it was started with, step by step, and writes after each a line into WORDS.<rank>: the step
// and the sums of weights and optimizer. With RESUME for CONFIG the run goes on. ON_RANK=R, a fault for the
// process with this rank: AT=S with FAULT=kill|stop|interrupt|save|memory:N, before step S.
#include <medley/base/file_digest.h>
#include <medley/base/interrupt.h>
#include <medley/memory/cpu_allocator.h>
#include <medley/session/parts.h>
#include <medley/train/stop_signal.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>

namespace medley {
namespace {

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

void Fail(const std::string& fault) {
  if (fault == "kill") std::raise(SIGKILL);
  if (fault == "stop") std::raise(SIGSTOP);
  if (fault == "interrupt") std::raise(SIGTERM);
  if (fault == "save") std::raise(SIGUSR1);
  if (fault.starts_with("memory:")) FailCpuAllocation(std::stoll(fault.substr(7)));
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
  std::unique_ptr<SessionParts> parts;
  if (config == "RESUME") {
    parts = ResumeTogether(OpenRunDirectory(*cluster, path), path,
                           {.overrides = overrides, .cluster = cluster}, console)
                .parts;
  } else {
    parts = BeginRun({.config = config, .overrides = overrides, .cluster = cluster}, path, nullptr, console);
  }
  const medley::Run& run = *parts->planned->run;
  ExitCode code = ExitCode::kDone;
  while (parts->trainer.step() < run.config.steps && code == ExitCode::kDone) {
    const std::int64_t step = parts->trainer.step() + 1;
    if (Variable("ON_RANK") == std::to_string(rank) && Variable("AT") == std::to_string(step))
      Fail(Variable("FAULT"));
    code = parts->trainer.Train(step);
    out << step << ' ' << SumOf(run.optimizer->weights().list()) << ' ' << SumOf(run.optimizer->State())
        << '\n'
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
  } catch (const medley::Error& error) {
    std::cerr << "medley: " << error.what() << '\n';
    return static_cast<int>(error.code());
  }
}
