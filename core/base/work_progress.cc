#include <medley/base/work_progress.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <medley/base/terminal.h>

namespace medley {
namespace {

bool g_silent = false;

constexpr double kSilence = 2, kRepaint = 0.2, kPlainLine = 10;  // seconds

}  // namespace

WorkProgress::WorkProgress(std::FILE* out, SecondsSource now)
    : out_(out),
      terminal_(IsTerminal(out)),
      now_(std::move(now)),
      begin_(now_()),
      last_(begin_ + kSilence - (terminal_ ? kRepaint : kPlainLine)) {}

void WorkProgress::Silence() noexcept { g_silent = true; }

WorkProgress::~WorkProgress() {
  if (painted_) std::fputs("\r\x1b[K", out_);
}

void WorkProgress::Say(const std::string& what, double done, double all) {
  if (g_silent) return;
  const double now = now_();
  if (now - last_ < (terminal_ ? kRepaint : kPlainLine)) return;
  last_ = now;
  painted_ = terminal_;
  std::fprintf(out_, terminal_ ? "\r%s\x1b[K" : "%s\n", Line(what, done, all).c_str());
  std::fflush(out_);
}

std::string WorkProgress::Line(const std::string& what, double done, double all) const {
  const double share = all > 0 ? std::clamp(done / all, 0.0, 1.0) : 0;
  std::string line = what + ": " + std::to_string(std::lround(100 * share)) + " %";
  if (share > 0) line += ", " + FormatSeconds((last_ - begin_) * (1 - share) / share) + " left";
  return line;
}

}  // namespace medley
