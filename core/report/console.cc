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

// `tell`: of the first line that it lacks.
std::shared_ptr<spdlog::logger> OpenLog(const std::filesystem::path& file,
                                        std::function<void(const std::string&)> tell) {
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
    log->set_error_handler([tell = std::move(tell), told = false](const std::string& words) mutable {
      if (!std::exchange(told, true)) tell("the log may lack lines: " + PrintableLines(words));
    });
    return log;
  } catch (const spdlog::spdlog_ex& error) {
    throw Error("cannot open the log file " + Printable(file) + ": " + error.what());
  }
}

std::function<void(const std::string&)> WarningsTo(std::FILE* out, const ConsoleSink& sink) {
  return [out, sink](const std::string& words) {
    if (sink)
      sink(ConsoleLine::kWarning, words);
    else
      std::fprintf(out, "warning: %s\n", words.c_str());
  };
}

}  // namespace

Console::Console(std::FILE* out, const std::filesystem::path& log_file, SecondsSource now)
    : out_(out),
      terminal_(IsTerminal(out)),
      now_(std::move(now)),
      last_line_(now_()),
      log_(OpenLog(log_file, WarningsTo(out, {}))) {}

Console::Console(ConsoleSink sink, SecondsSource now)
    : sink_(std::move(sink)), now_(std::move(now)), last_line_(now_()) {}

Console::~Console() { ClearStatus(); }

void Console::LogTo(const std::filesystem::path& file) { log_ = OpenLog(file, WarningsTo(out_, sink_)); }

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

void Console::Show(ConsoleLine kind, const std::string& text) {
  if (sink_) return sink_(kind, text);
  ClearStatus();
  Put((kind == ConsoleLine::kWarning ? "warning: " : "") + text + "\n");
}

void Console::Say(const std::string& line) {
  const std::string printable = PrintableLines(line);
  Show(ConsoleLine::kSaid, printable);
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
  Show(ConsoleLine::kWarning, PrintableLines(line));
  Log(line);
}

void Console::Log(const std::string& line) {
  if (log_) log_->warn(PrintableLines(line));
}

std::size_t Console::columns() const { return sink_ ? kPageColumns : ColumnsOf(out_); }

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
  if ((terminal_ || sink_) && now - last_paint_ >= kRepaint) {
    if (sink_)
      sink_(ConsoleLine::kStatus, shown);
    else
      Paint(shown);
    last_paint_ = now;
  }
  if (now - last_line_ < kPlainLine) return;
  last_line_ = now;
  if (log_) log_->info(Printable(line));
  if (!terminal_ && !sink_) Put(shown + "\n");
}

}  // namespace medley
