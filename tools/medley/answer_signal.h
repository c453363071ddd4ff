#pragma once

#include <string>

namespace medley {

// What Ctrl-C means while it lives, to a command that answers: it asks for an interrupt (base/interrupt.h),
// with which an answer ends; one that comes when that was asked for ends the command at once, with exit code
// 130, and what was not finished is not there. Ignored where it was. What was asked for is forgotten at its
// begin and end. One at a time.
class AnswerSignal {
 public:
  AnswerSignal();
  ~AnswerSignal();
  AnswerSignal(const AnswerSignal&) = delete;
  AnswerSignal& operator=(const AnswerSignal&) = delete;
};

// Lines of stdin, while an AnswerSignal lives. Ends where the input does, or where an interrupt is asked for.
class InputLines {
 public:
  // False at the end. A line without its "\n".
  bool Next(std::string& line);

 private:
  std::string waiting_;
  bool is_over_ = false;
};

// All that stands there, without one line's end behind it. Throws InputError where it is not UTF-8.
std::string AllOfInput();

}  // namespace medley
