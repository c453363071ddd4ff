#pragma once

#include <cstdio>
#include <string>

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

}  // namespace medley
