#include <medley/base/printable.h>
#include <medley/base/work_progress.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <system_error>

#include <medley/base/terminal.h>

namespace medley {
namespace {

bool g_silent = false;
std::atomic<std::uint64_t> g_signs = 0;

constexpr double kSilence = 2, kRepaint = 0.2, kPlainLine = 10;  // seconds

}  // namespace

WorkProgress::WorkProgress(std::FILE* out, SecondsSource now)
    : out_(out),
      terminal_(IsTerminal(out)),
      now_(std::move(now)),
      begin_(now_()),
      last_(begin_ + kSilence - (terminal_ ? kRepaint : kPlainLine)) {}

void WorkProgress::Silence() noexcept { g_silent = true; }

std::uint64_t WorkProgress::Signs() noexcept { return g_signs.load(std::memory_order_relaxed); }

WorkProgress::~WorkProgress() { Hide(); }

void WorkProgress::Hide() {
  if (std::exchange(painted_, false)) std::fputs("\r\x1b[K", out_);
}

void WorkProgress::Say(const std::string& what, double done, double all) {
  g_signs.fetch_add(1, std::memory_order_relaxed);
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
  std::string line = Printable(what) + ": " + std::to_string(std::lround(100 * share)) + " %";
  if (share > 0) line += ", " + FormatSeconds((last_ - begin_) * (1 - share) / share) + " left";
  return line;
}

Telling WorkInParts::Next(double weight) {
  const double begin = begun_;
  begun_ += weight;
  return [this, begin, weight](const std::string& what, double done, double all) {
    progress_.Say(what, begin + (all > 0 ? weight * done / all : 0), all_);
  };
}

ReadingProgress::ReadingProgress(const std::filesystem::path& file, std::FILE* out, SecondsSource now)
    : progress_(out, std::move(now)), words_("reading " + Printable(file.filename())) {
  std::error_code gone;  // then who reads it says so
  const auto bytes = std::filesystem::file_size(file, gone);
  if (!gone) all_ = static_cast<double>(bytes);
}

void ReadingProgress::Read(std::size_t bytes) {
  done_ += static_cast<double>(bytes);
  progress_.Say(words_, done_, all_);
}

}  // namespace medley
