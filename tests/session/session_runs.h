#pragma once

// Runs in this process, as medley train and medley resume make them.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/file_digest.h>
#include <medley/base/interrupt.h>
#include <medley/checkpoint/checkpoint_files.h>
#include <medley/report/console.h>
#include <medley/session/session.h>

#include "tests/report/scratch_directory.h"
#include "tests/report/silent_console.h"
#include "tests/words.h"

namespace medley::test {

// What the command would exit with and say.
struct Ended {
  ExitCode code = ExitCode::kFailed;
  std::string out;
};

template <typename Fn>
Ended EndOf(const Fn& fn) {
  SilentConsole console;
  try {
    const ExitCode code = fn(*console);
    return {code, console.words()};
  } catch (const Interrupted&) {
    return {ExitCode::kInterrupted, console.words()};
  } catch (const Error& error) {
    return {error.code(), console.words() + "medley: " + error.what() + "\n"};
  }
}

// "steps=4 seed=5"
inline std::vector<std::string> Overrides(const std::string& words) {
  std::istringstream stream(words);
  std::vector<std::string> overrides;
  for (std::string word; stream >> word;) overrides.push_back(word);
  return overrides;
}

// Of a run config of this tree.
inline BeginRequest RequestOf(const std::string& name, const std::string& overrides) {
  return {.config = std::filesystem::path(MEDLEY_SOURCE_DIR "/configs/runs") / name,
          .overrides = Overrides(overrides)};
}

inline Ended TrainToTheEnd(const BeginRequest& request, const std::filesystem::path& run) {
  return EndOf([&](Console& console) { return Session::Begin(request, run, console).Train(); });
}

inline Ended ResumeToTheEnd(const std::filesystem::path& run, const ResumeRequest& request) {
  return EndOf([&](Console& console) { return Session::Resume(run, request, console).Train(); });
}
inline Ended ResumeToTheEnd(const std::filesystem::path& run, const std::string& overrides = "") {
  return ResumeToTheEnd(run, {.overrides = Overrides(overrides)});
}

inline Ended ReplayToTheEnd(const std::filesystem::path& old, const BeginRequest& request,
                            const std::filesystem::path& run) {
  return EndOf([&](Console& console) { return Session::Replay(old, request, run, console); });
}

// Step by step, as a file that is edited is looked at after each; a wrong one counts once it is a second old.
inline bool TrainUntil(Session& session, const std::function<bool()>& condition) {
  for (int i = 0; i < 600 && !condition(); ++i) {
    const std::int64_t step = session.step();
    session.Train(step + 1);
    if (session.step() == step) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return condition();
}

// Everything that a resume must give back.
inline std::map<std::string, std::string> EndState(const std::filesystem::path& run) {
  const std::filesystem::path checkpoint = ListCheckpoints(run).at(0).path;
  auto sections = nlohmann::ordered_json::parse(ReadText(checkpoint / "state.json"));
  sections.erase("receipt");  // measured
  return {{"step", checkpoint.filename()},
          {"model", HashText(ReadText(checkpoint / "model.safetensors"))},
          {"optimizer", HashText(ReadText(checkpoint / "optim.safetensors"))},
          {"state", sections.dump()},
          {"metrics", ReadText(run / "metrics.jsonl")},
          {"losses", ReadText(run / "losses.csv")}};
}

// Asks for an interrupt when this has been so for a while, and forgets it at its end.
class InterruptsWhen {
 public:
  InterruptsWhen(std::function<bool()> condition, std::chrono::milliseconds since)
      : thread_([this, condition = std::move(condition), since](const std::stop_token& stop) {
          while (!condition()) {
            if (stop.stop_requested()) return;
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
          }
          std::this_thread::sleep_for(since);
          asked_ = Clock::now();
          RequestInterrupt();
        }) {}
  ~InterruptsWhen() { Join(); }
  InterruptsWhen(const InterruptsWhen&) = delete;
  InterruptsWhen& operator=(const InterruptsWhen&) = delete;

  // From the interrupt to now, when what it ended has returned.
  double SecondsToEnd() {
    const Clock::time_point now = Clock::now();
    Join();
    return std::chrono::duration<double>(now - asked_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;

  void Join() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
    ForgetInterrupt();
  }

  Clock::time_point asked_;
  std::jthread thread_;  // last: it uses the others
};

// As Ctrl-C between two steps.
inline ExitCode TrainInterrupted(Session& session) {
  RequestInterrupt();
  const ExitCode code = session.Train();
  ForgetInterrupt();
  return code;
}

}  // namespace medley::test
