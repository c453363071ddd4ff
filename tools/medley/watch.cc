#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <medley/base/clock.h>
#include <medley/base/error.h>
#include <medley/base/terminal.h>
#include <medley/base/work_progress.h>

#include "tools/medley/arguments.h"
#include "tools/medley/live_screen.h"
#include "tools/medley/verbs.h"
#include "tools/medley/watched.h"

namespace medley {
namespace {

constexpr double kPause = 2, kLinePause = 10;  // seconds
constexpr double kIdle = 10;                   // times what a look takes, so that it takes no core
constexpr double kBetweenRuns = 15;  // seconds in which none of several trains, and another may begin

// Looks at it until it is over, and keeps what is to be said of it.
class Follower {
 public:
  Follower(Watched& watched, std::function<std::string()> words)
      : watched_(watched), words_(std::move(words)) {}

  // Whether there is something new to say.
  bool Look() {
    const double before = SteadySeconds();
    if (before < next_ && !watched_.HasEnded()) return false;
    std::string problem;
    bool is_new = false;
    try {
      is_new = watched_.Look();
      if (is_new) text_ = words_();
    } catch (const Error& error) {
      // What is written just now may be whole the next time; of a run that nobody writes it is not.
      if (!watched_.GoesOn()) throw;
      problem = std::string("cannot be read just now: ") + error.what() + "\n";
    }
    if (std::exchange(problem_, problem) != problem) is_new = true;
    const double now = SteadySeconds();
    next_ = now + kIdle * (now - before);
    if (watched_.GoesOn()) trained_ = now;
    is_over_ =
        !watched_.GoesOn() && (!trained_ || !watched_.MayBeginAgain() || now > *trained_ + kBetweenRuns);
    WorkProgress::Silence();  // from here on its line would stand in the middle of the screen
    return is_new;
  }
  bool is_over() const { return is_over_; }
  void SayAnew() { text_ = words_(); }
  std::string text() const { return problem_ + text_; }

 private:
  Watched& watched_;
  std::function<std::string()> words_;
  std::string text_, problem_;
  double next_ = 0;                // before which nothing is read
  std::optional<double> trained_;  // when something did
  bool is_over_ = false;
};

void WatchOnScreen(Watched& watched) {
  Follower follower(watched, [&] { return watched.Words(); });
  follower.Look();
  if (follower.is_over()) return;
  const LiveScreen screen;
  screen.Show(follower.text());
  while (!follower.is_over()) {
    if (screen.Wait(kPause)) {
      follower.SayAnew();  // as wide as the window is now
    } else if (!follower.Look()) {
      continue;
    }
    screen.Show(follower.text());
  }
}

// A JSON text where something is new, or a line, of which not many come.
void WatchInLines(Watched& watched, bool as_json) {
  Follower follower(watched, [&] { return as_json ? watched.Json() : watched.Progress(); });
  std::optional<double> said;
  bool is_new = false;
  while (std::cout.good()) {
    is_new = follower.Look() || is_new;
    const bool is_time = !said || SteadySeconds() >= *said + kLinePause;
    if (is_new && (as_json || (is_time && !follower.is_over()))) {
      std::cout << follower.text() << std::flush;
      said = SteadySeconds();
      is_new = false;
    }
    if (follower.is_over()) return;
    std::this_thread::sleep_for(std::chrono::duration<double>(kPause));
  }
}

}  // namespace

int RunWatch(int argc, char** argv) {
  CLI::App app(
      "Shows the report of a run, or the table of the runs below a directory, anew while they train, and at "
      "their end once more so that it stays. Without a terminal: a line where something is new.",
      "medley watch");
  std::filesystem::path directory;
  app.add_option("DIR", directory, "the run's directory, or one with runs below it")->required();
  AddWide(app);
  bool as_json = false;
  AddJson(app, as_json);
  if (!ParseArguments(app, argc, argv)) return 0;
  const std::unique_ptr<Watched> watched = Watch(directory);
  if (as_json || !IsTerminal(stdout))
    WatchInLines(*watched, as_json);
  else
    WatchOnScreen(*watched);
  if (!as_json) std::cout << watched->Words();
  return 0;
}

}  // namespace medley
