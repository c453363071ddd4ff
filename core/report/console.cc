#include <medley/report/console.h>

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>
#include <stdio_ext.h>

#include <utility>

#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/printable.h>
#include <medley/base/terminal.h>
#include <medley/report/screen.h>

namespace medley {
namespace {

constexpr double kRepaint = 0.1, kPlainLine = 10;  // seconds

std::shared_ptr<spdlog::logger> OpenLog(const std::filesystem::path& file, std::FILE* out) {
  if (file.empty()) return nullptr;
  // Opening a pipe would wait for a reader.
  std::error_code missing;
  if (std::filesystem::exists(std::filesystem::symlink_status(file, missing))) {
    if (const std::string problem = FileProblem(file); !problem.empty()) throw InputError(problem);
  }
  try {
    auto log = std::make_shared<spdlog::logger>(
        "medley", std::make_shared<spdlog::sinks::basic_file_sink_mt>(file.string()));
    log->set_pattern("%Y-%m-%d %H:%M:%S %L %v");
    log->flush_on(spdlog::level::info);
    // A full disk must not end a run because of its log; it is said once, where the log's lines go too.
    log->set_error_handler([out, told = false](const std::string& words) mutable {
      if (!std::exchange(told, true))
        std::fprintf(out, "warning: the log may lack lines: %s\n", PrintableLines(words).c_str());
    });
    return log;
  } catch (const spdlog::spdlog_ex& error) {
    throw Error("cannot open the log file " + Printable(file) + ": " + error.what());
  }
}

}  // namespace

Console::Console(std::FILE* out, const std::filesystem::path& log_file, SecondsSource now)
    : out_(out),
      terminal_(IsTerminal(out)),
      now_(std::move(now)),
      last_line_(now_()),
      log_(OpenLog(log_file, out)) {}

Console::~Console() { ClearStatus(); }

void Console::LogTo(const std::filesystem::path& file) { log_ = OpenLog(file, out_); }

// Nobody reads it any more, or the disk is full: neither is a reason to end a run, nor for the command to say
// that its result was not printed.
void Console::Put(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), out_) == text.size();
  if (std::fflush(out_) == 0 && written) return;
  ::__fpurge(out_);
  std::clearerr(out_);
}

void Console::ClearStatus() {
  if (!status_shown_) return;
  Put("\r\x1b[K");
  status_shown_ = false;
}

void Console::Say(const std::string& line) {
  ClearStatus();
  const std::string printable = PrintableLines(line);
  Put(printable + "\n");
  LogLine(printable);
}

void Console::Detail(const std::string& line) {
  if (shows_details_ || IsWide()) return Say(line);
  LogLine(PrintableLines(line));
}

// A table begins below the time, so that its columns stand.
void Console::LogLine(const std::string& line) {
  if (log_) log_->info((line.find('\n') == std::string::npos ? "" : "\n") + line);
}

void Console::Warn(const std::string& line) {
  ClearStatus();
  Put("warning: " + PrintableLines(line) + "\n");
  Log(line);
}

void Console::Log(const std::string& line) {
  if (log_) log_->warn(PrintableLines(line));
}

std::size_t Console::columns() const { return ColumnsOf(out_); }

void Console::Paint(const std::string& line) {
  const std::size_t width = columns();
  std::string visible = line;
  if (visible.size() >= width) visible.resize(width - 1);  // a full last column would scroll
  Put("\r" + visible + "\x1b[K");
  status_shown_ = true;
}

void Console::Status(const std::string& line, const std::string& on_screen) {
  const std::string shown = Printable(on_screen.empty() ? line : on_screen);
  const double now = now_();
  if (terminal_ && now - last_paint_ >= kRepaint) {
    Paint(shown);
    last_paint_ = now;
  }
  if (now - last_line_ < kPlainLine) return;
  last_line_ = now;
  if (log_) log_->info(Printable(line));
  if (!terminal_) Put(shown + "\n");
}

}  // namespace medley
