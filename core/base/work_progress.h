#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>

#include <medley/base/clock.h>

namespace medley {

// Tells on stderr how far a piece of work is that takes long: nothing in its first two seconds; then on a
// terminal one line that is painted again in place, and is gone at the end, elsewhere a line every ten
// seconds: "reading rows.jsonl: 45 %, 0:41 left". For one thread.
class WorkProgress {
 public:
  explicit WorkProgress(std::FILE* out = stderr, SecondsSource now = SteadySeconds);
  ~WorkProgress();
  WorkProgress(const WorkProgress&) = delete;
  WorkProgress& operator=(const WorkProgress&) = delete;

  // From here on this process tells nothing: another one tells the same.
  static void Silence() noexcept;

  // How often any work of this process said how far it is, told or not: whoever sees it grow knows that it
  // goes on. From any thread.
  static std::uint64_t Signs() noexcept;

  // Takes the line away, for whoever prints something else; it comes back where more is said.
  void Hide();

  // `what` is under way; so much of all the work is done, in any unit.
  void Say(const std::string& what, double done, double all);

 private:
  std::string Line(const std::string& what, double done, double all) const;

  std::FILE* out_;
  bool terminal_;
  SecondsSource now_;
  double begin_, last_;
  bool painted_ = false;
};

// What a piece of work is told of, as WorkProgress::Say is. Empty: nobody listens.
using Telling = std::function<void(const std::string& what, double done, double all)>;

// One WorkProgress for work whose parts follow one another, each with its share of the time.
class WorkInParts {
 public:
  // `all`: the weights of all parts.
  explicit WorkInParts(double all, std::FILE* out = stderr, SecondsSource now = SteadySeconds)
      : progress_(out, std::move(now)), all_(all) {}

  void Hide() { progress_.Hide(); }

  // Of the next part. Good while this lives, until the next one is asked for.
  Telling Next(double weight);

 private:
  WorkProgress progress_;
  double all_, begun_ = 0;
};

// The WorkProgress of who reads a file from its begin to its end: "reading metrics.jsonl: 45 %, 0:41 left".
class ReadingProgress {
 public:
  explicit ReadingProgress(const std::filesystem::path& file, std::FILE* out = stderr,
                           SecondsSource now = SteadySeconds);
  // So many more bytes were read.
  void Read(std::size_t bytes);

 private:
  WorkProgress progress_;
  std::string words_;
  double done_ = 0, all_ = 0;
};

}  // namespace medley
