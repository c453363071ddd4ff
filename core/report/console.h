#pragma once

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include <medley/base/clock.h>

namespace spdlog {
class logger;
}

namespace medley {

// Takes what a console shows, in place of a stream: text that stays, several lines of it perhaps, or the
// status line, which replaces the one before. Called where the console is, and throws nothing.
enum class ConsoleLine { kSaid, kWarning, kStatus };
using ConsoleSink = std::function<void(ConsoleLine kind, const std::string& text)>;

// What a person sees of a run: lines that stay, and one status line.
//
// On a terminal the status line is repainted in place, at most ten times a second. Elsewhere (a pipe, a file,
// a batch system, a terminal that knows no escape codes: TERM=dumb) it becomes one plain line every ten
// seconds: no escape code and no carriage return ever goes into a log. Lines that cannot be written are lost,
// and no error. For one thread, the trainer's. The stream outlives it.
class Console {
 public:
  // `log_file`: a copy of every line with its time; "" for none.
  explicit Console(std::FILE* out, const std::filesystem::path& log_file = {},
                   SecondsSource now = SteadySeconds);
  // To the sink, which is told of a status at most ten times a second. Lines are as wide as in a pipe.
  explicit Console(ConsoleSink sink, SecondsSource now = SteadySeconds);
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // From here on a copy of every line goes into this file, behind what it has; another one no longer gets
  // any. An InputError or an Error where it cannot be opened; then the lines go where they went.
  void LogTo(const std::filesystem::path& file);

  void Say(const std::string& line);
  // What few want to see: the log file has it, and the screen where tables are wide (ShowWide) or after
  // ShowDetails.
  void Detail(const std::string& line);
  void ShowDetails() { shows_details_ = true; }
  // Warns of trouble that the run survives.
  void Warn(const std::string& line);
  // Writes into the log file alone what the command will say itself.
  void Log(const std::string& line);
  // What is no log file shows `on_screen` where it is given.
  void Status(const std::string& line, const std::string& on_screen = "");
  // ColumnsOf its stream; of a sink kPageColumns.
  std::size_t columns() const;

 private:
  void Show(ConsoleLine kind, const std::string& text);
  void Put(const std::string& text);
  void LogLine(const std::string& line);
  void Paint(const std::string& line);
  void ClearStatus();

  std::FILE* out_ = nullptr;  // where there is no sink
  ConsoleSink sink_;
  bool terminal_ = false;
  bool status_shown_ = false, shows_details_ = false;
  SecondsSource now_;
  double last_paint_ = -std::numeric_limits<double>::infinity(), last_line_;
  std::shared_ptr<spdlog::logger> log_;
};

}  // namespace medley
